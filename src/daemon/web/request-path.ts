// Reads the path of a request, in the only spelling that is accepted. So the path that is checked and the path that is routed are the same.
// Refuses dots, empty parts, backslashes, needless escapes, and whole URLs. Test: test/tables/daemon/web/access-check.test.ts.

const MAX_URL = 16_384
/** The characters of a part of a path; `%` begins an escape. */
const PART = /^(?:[\w.~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+$/
/** Escapes of characters that need none, or that could change the parts of a path. */
const FORBIDDEN_ESCAPE = /%(?:2[DdEeFf]|3[0-9]|4[1-9A-Fa-f]|5[0-9AaCcFf]|6[1-9A-Fa-f]|7[0-9AaEeFf]|[01][0-9A-Fa-f])/

/** The parts of the path, still escaped; null if it has another spelling. The root has no parts. */
export function pathParts(url: string): readonly string[] | null {
  if (!url.startsWith('/') || url.length > MAX_URL || url.includes('#')) return null
  const path = url.split('?', 1)[0] ?? ''
  if (path === '/') return []
  const parts = path.slice(1).split('/')
  return parts.every(isPlain) ? parts : null
}

function isPlain(part: string): boolean {
  if (!PART.test(part) || FORBIDDEN_ESCAPE.test(part) || part === '.' || part === '..') return false
  try {
    decodeURIComponent(part)
    return true
  } catch {
    // Not UTF-8.
    return false
  }
}
