// Installations of reeve for tests: copies of the build in folders of the test. A test can give each another build id.
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../env.ts'
import { BUNDLE_ID } from './build-id.ts'
import { startCli, type CliResult, type RunningCli } from './cli.ts'

/** Files that contain the build id. */
const FILES_WITH_BUILD_ID = ['dist/daemon.js', 'dist/cli/main.cjs', 'dist/cli/ps.cjs']

export class Installation {
  readonly dir: string
  #build = BUNDLE_ID ?? ''

  private constructor(dir: string) {
    this.dir = dir
  }

  /** Copies the build to `dir`. */
  static copy(dir: string): Installation {
    cpSync(join(ROOT, 'dist'), join(dir, 'dist'), { recursive: true })
    cpSync(join(ROOT, 'package.json'), join(dir, 'package.json'))
    return new Installation(dir)
  }

  /** Gives this installation another build id, as if it were another build. */
  setBuildId(build: string): this {
    for (const name of FILES_WITH_BUILD_ID) this.replace(name, this.#build, build)
    this.#build = build
    return this
  }

  /** Replaces a text in a file. */
  replace(name: string, from: string, to: string): void {
    const file = join(this.dir, name)
    const text = readFileSync(file, 'latin1')
    if (!text.includes(from)) throw new Error(`${file} does not contain ${from}`)
    writeFileSync(file, text.replaceAll(from, to), 'latin1')
  }

  /** Starts a command of this installation. */
  start(home: string, args: readonly string[]): RunningCli {
    return startCli(home, args, { program: join(this.dir, 'dist/cli/main.cjs') })
  }

  /** Runs a command of this installation to its end. */
  run(home: string, args: readonly string[]): Promise<CliResult> {
    return this.start(home, args).result
  }

  remove(): void {
    rmSync(this.dir, { recursive: true })
  }
}
