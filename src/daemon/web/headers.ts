// The headers of every answer over TCP. They let the page load nothing from another server, be in no frame, and make no HTML from text.
// Test: test/e2e/web/access/listener.test.ts.

/** The name of the page's only Trusted Types policy, which makes the address of its worker. */
const POLICY = 'reeve-worker'

const CONTENT_SECURITY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  `trusted-types ${POLICY}`,
].join('; ')

const NO_FEATURES = ['camera', 'microphone', 'geolocation', 'clipboard-read', 'display-capture', 'usb', 'serial', 'hid', 'payment', 'midi']

export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': CONTENT_SECURITY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'permissions-policy': NO_FEATURES.map((feature) => `${feature}=()`).join(', '),
  'cache-control': 'no-store',
}

/** The `cache-control` of files whose names have a hash of their content. */
export const IMMUTABLE = 'private, max-age=31536000, immutable'
