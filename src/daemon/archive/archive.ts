// Exports and imports processes for the API routes. Loads the code of each only when it is first used.
// Test: test/e2e/daemon/archive.test.ts.
import type { ExportedView, ImportedView } from '../../api/views/archive.ts'
import type { ExportDeps } from './export.ts'
import type { Importer, ImportDeps } from './import.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

interface ArchiveDeps extends ExportDeps, ImportDeps {
  readonly store: ExportDeps['store'] & ImportDeps['store']
  /** called after each import, even a failed one, which may have imported some of its processes */
  readonly onImported: () => void
  /** runs `work`, and prevents the removal of the process until it ends */
  readonly protectFromRemoval: <T>(ref: string, work: (uuid: Uuid) => Promise<T>) => Promise<T>
}

export class Archive {
  readonly #deps: ArchiveDeps
  #importer: Promise<Importer> | null = null

  constructor(deps: ArchiveDeps) {
    this.#deps = deps
  }

  async export(ref: string, dir: string, signal: AbortSignal): Promise<ExportedView> {
    const { exportProcess } = await import('./export.ts')
    return this.#deps.protectFromRemoval(ref, (uuid) => exportProcess(this.#deps, uuid, dir, signal))
  }

  async import(dir: string, signal: AbortSignal): Promise<ImportedView> {
    this.#importer ??= import('./import.ts').then(({ Importer }) => new Importer(this.#deps))
    try {
      return await (await this.#importer).import(dir, signal)
    } finally {
      this.#deps.onImported()
    }
  }
}
