// Simulates git's objects: commits with their files and parents, refs, and the merge of three trees. Files have one line each, or the
// markers of a conflict, so that two changes of one file never merge. Trees have the names that git gives them. Knows no
// crews. Compared with git by test/processes/crew/simulated-git.test.ts.
import { createHash } from 'node:crypto'

export type Files = Readonly<Record<string, string>>

export interface Commit {
  readonly files: Files
  readonly parents: readonly string[]
  readonly subject: string
  /** the time of creation: of two commits the newer one is listed first */
  readonly at: number
  /** the commit and all its ancestors */
  readonly ancestors: ReadonlySet<string>
}

export interface Merged {
  readonly files: Files
  /** the files in conflict, sorted */
  readonly conflicts: readonly string[]
}

const BLOBS = new Map<string, Buffer>()
const TREES = new WeakMap<Files, string>()

function sha(type: 'blob' | 'tree' | 'commit', content: Buffer): Buffer {
  return createHash('sha1').update(`${type} ${content.length}\0`).update(content).digest()
}

function blobOf(text: string): Buffer {
  const cached = BLOBS.get(text)
  if (cached) return cached
  const hash = sha('blob', Buffer.from(text))
  if (BLOBS.size > 20_000) BLOBS.clear()
  BLOBS.set(text, hash)
  return hash
}

/** The tree's name in git. */
export function treeId(files: Files): string {
  const cached = TREES.get(files)
  if (cached !== undefined) return cached
  const entries = Object.entries(files)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, text]) => [Buffer.from(`100644 ${name}\0`), blobOf(text)])
  const id = sha('tree', Buffer.concat(entries)).toString('hex')
  TREES.set(files, id)
  return id
}

export function isSame(first: Files, second: Files): boolean {
  return first === second || treeId(first) === treeId(second)
}

/** The names of the files with different content, sorted. */
export function changedFiles(first: Files, second: Files): string[] {
  if (first === second) return []
  return [...new Set([...Object.keys(first), ...Object.keys(second)])].filter((name) => first[name] !== second[name]).toSorted()
}

/** The files with one change; null removes the file. */
export function withFile(files: Files, name: string, text: string | null): Files {
  const { [name]: _, ...others } = files
  return text === null ? others : { ...others, [name]: text }
}

/** The conflict that git writes for two texts that share only their first and last lines. */
function conflictText(ours: string, theirs: string, [own, other]: readonly [string, string]): string {
  const [a, b] = [ours.split(/(?<=\n)/), theirs.split(/(?<=\n)/)]
  let sharedAtStart = 0
  while (sharedAtStart < Math.min(a.length, b.length) && a[sharedAtStart] === b[sharedAtStart]) sharedAtStart += 1
  let sharedAtEnd = 0
  while (sharedAtEnd < Math.min(a.length, b.length) - sharedAtStart && a.at(-1 - sharedAtEnd) === b.at(-1 - sharedAtEnd)) sharedAtEnd += 1
  const differentLines = (lines: readonly string[]): string => lines.slice(sharedAtStart, lines.length - sharedAtEnd).join('')
  return `${a.slice(0, sharedAtStart).join('')}<<<<<<< ${own}\n${differentLines(a)}=======\n${differentLines(b)}>>>>>>> ${other}\n${a.slice(a.length - sharedAtEnd).join('')}`
}

/** Two changes of one file merge only when they are the same. */
export function mergeFiles(base: Files, ours: Files, theirs: Files, labels: readonly [string, string]): Merged {
  let files: Files = ours
  const conflicts: string[] = []
  for (const name of changedFiles(base, theirs)) {
    const [baseText, ourText, theirText] = [base[name], ours[name], theirs[name]]
    if (ourText === theirText) continue
    if (ourText === baseText) files = withFile(files, name, theirText ?? null)
    else {
      conflicts.push(name)
      files = withFile(
        files,
        name,
        ourText === undefined || theirText === undefined ? (ourText ?? theirText ?? null) : conflictText(ourText, theirText, labels),
      )
    }
  }
  return { files, conflicts }
}

export class Objects {
  readonly commits = new Map<string, Commit>()
  /** by full name */
  readonly refs = new Map<string, string>()
  #now = 0

  /** Advances the time: a later commit of the same files is another commit. */
  tick(): void {
    this.#now += 1
  }

  /** Two commits with the same content and time are the same commit. */
  commit(files: Files, parents: readonly string[], subject: string, at = this.#now): string {
    const id = sha('commit', Buffer.from(`${treeId(files)} ${parents.join(' ')} ${at} ${subject}`)).toString('hex')
    if (this.commits.has(id)) return id
    const ancestors = new Set([id])
    for (const parent of parents) for (const ancestor of this.get(parent).ancestors) ancestors.add(ancestor)
    this.commits.set(id, { files: Object.freeze(files), parents, subject, at, ancestors })
    return id
  }

  get(id: string): Commit {
    const commit = this.commits.get(id)
    if (!commit) throw new Error(`there is no commit ${id}`)
    return commit
  }

  files(id: string): Files {
    return this.get(id).files
  }

  isAncestor(commit: string, head: string): boolean {
    return this.get(head).ancestors.has(commit)
  }

  #bases(commit: string, otherCommit: string): string[] {
    const common = [...this.get(commit).ancestors].filter((id) => this.isAncestor(id, otherCommit))
    return common
      .filter((id) => !common.some((descendant) => descendant !== id && this.isAncestor(id, descendant)))
      .toSorted((a, b) => this.get(b).at - this.get(a).at)
  }

  mergeBase(commit: string, otherCommit: string): string | null {
    return this.#bases(commit, otherCommit)[0] ?? null
  }

  /** Returns null when the two have no common history. */
  merge(commit: string, otherCommit: string, labels: readonly [string, string] = [commit, otherCommit]): Merged | null {
    const [firstBase, ...otherBases] = this.#bases(commit, otherCommit).toReversed()
    if (firstBase === undefined) return null
    let base = firstBase
    for (const nextBase of otherBases) {
      const merged = this.merge(base, nextBase, ['Temporary merge branch 1', 'Temporary merge branch 2'])
      base = this.commit(merged?.files ?? {}, [base, nextBase], 'merged merge bases')
    }
    return mergeFiles(this.files(base), this.files(commit), this.files(otherCommit), labels)
  }

  /** The ancestors of `heads` that are not ancestors of `excluded`, newest first. */
  commitsWithout(heads: readonly string[], excluded: readonly string[]): string[] {
    const excludedCommits = new Set(excluded.flatMap((id) => [...this.get(id).ancestors]))
    const included = new Set(heads.flatMap((id) => [...this.get(id).ancestors]).filter((id) => !excludedCommits.has(id)))
    // A later commit of a history is newer, whatever its time.
    return [...included].toSorted((a, b) => this.get(b).at - this.get(a).at || this.get(b).ancestors.size - this.get(a).ancestors.size)
  }

  /** The refs whose names begin with the prefix. */
  refsBelow(prefix: string): [string, string][] {
    return [...this.refs].filter(([name]) => name.startsWith(prefix)).toSorted(([a], [b]) => (a < b ? -1 : 1))
  }
}

/** Returns the name with the first free number. */
export function freeName(name: string, takenNames: readonly string[]): string {
  for (let number = 1; ; number += 1) if (!takenNames.includes(`${name}-${number}`)) return `${name}-${number}`
}
