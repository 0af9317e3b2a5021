// Applies the rules of `.gitignore` files, which are read while a search goes down the tree. The rules apply only inside of
// a git repository, as in ripgrep. A path that the model names explicitly is searched even if a rule excludes it.
// Test: test/tables/drivers/native/tools/gitignore.test.ts.
import { stat } from 'node:fs/promises'
import path from 'node:path'
import ignore, { type Ignore } from 'ignore'
import { readText } from './text-files.ts'
import type { PathAccess } from '../../../kernel/model/spec-parts.ts'

const GITIGNORE = '.gitignore'
const MAX_GITIGNORE_BYTES = 256 * 1024

/** The rules of one `.gitignore` file. */
interface Layer {
  /** the directory of the file, to which its patterns are relative */
  readonly dir: string
  readonly rules: Ignore
}

export class IgnoreRules {
  readonly #paths: PathAccess | undefined
  readonly #isInRepository: boolean
  /** the rules of all files so far, the outermost file first */
  readonly #layers: readonly Layer[]

  private constructor(paths: PathAccess | undefined, isInRepository: boolean, layers: readonly Layer[]) {
    this.#paths = paths
    this.#isInRepository = isInRepository
    this.#layers = layers
  }

  /**
   * Reads the rules above the root of a search, from the top of its repository down. If they exclude the root itself, they do not apply.
   */
  static async above(root: string, paths: PathAccess | undefined): Promise<IgnoreRules> {
    const dirs = await dirsAbove(root)
    let rules = new IgnoreRules(paths, dirs.length > 0, [])
    for (const dir of dirs) rules = await rules.#withRulesOf(dir)
    return rules.excludes(root, true) ? new IgnoreRules(paths, true, []) : rules
  }

  /** Returns the rules for the entries of a directory. */
  async inside(dir: string, entries: readonly { readonly name: string }[]): Promise<IgnoreRules> {
    const isRepository = entries.some(({ name }) => name === '.git') && (await isTopOfRepository(dir))
    const rules = isRepository ? new IgnoreRules(this.#paths, true, []) : this
    return rules.#isInRepository && entries.some(({ name }) => name === GITIGNORE) ? rules.#withRulesOf(dir) : rules
  }

  /** True if a path is excluded. The innermost file with a matching pattern decides. */
  excludes(file: string, isDirectory: boolean): boolean {
    for (const { dir, rules } of this.#layers.toReversed()) {
      const relative = path.relative(dir, file)
      if (relative === '' || relative.startsWith('..')) continue
      const { ignored, unignored } = rules.test(isDirectory ? `${relative}/` : relative)
      if (ignored || unignored) return ignored
    }
    return false
  }

  /** Adds the rules of this directory's file. A missing, too large or unreadable file excludes nothing. */
  async #withRulesOf(dir: string): Promise<IgnoreRules> {
    // An unreadable file excludes nothing.
    const text = await readText(path.join(dir, GITIGNORE), MAX_GITIGNORE_BYTES, this.#paths).catch(() => '')
    if (text === '') return this
    return new IgnoreRules(this.#paths, this.#isInRepository, [...this.#layers, { dir, rules: ignore().add(text) }])
  }
}

/** The directories above `root` in its repository, outermost first. Empty if `root` is in no repository, or is its top. */
async function dirsAbove(root: string): Promise<string[]> {
  const dirs: string[] = []
  for (let dir = root; ; dir = path.dirname(dir)) {
    if (dir !== root) dirs.unshift(dir)
    if (await isTopOfRepository(dir)) return dirs
    if (dir === path.dirname(dir)) return []
  }
}

/**
 * True if the directory is the top of a repository. In a worktree or submodule, `.git` is a file. A directory `.git` without HEAD is not
 * a repository.
 */
async function isTopOfRepository(dir: string): Promise<boolean> {
  // A missing or unreadable `.git` means that this is not the top of a repository.
  const stats = await stat(path.join(dir, '.git')).catch(() => null)
  if (!stats?.isDirectory()) return stats?.isFile() ?? false
  // A missing HEAD means that this is not a repository.
  return (await stat(path.join(dir, '.git', 'HEAD')).catch(() => null)) !== null
}
