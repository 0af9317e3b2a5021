// What carries histories out of this store and into it, behind one name for the routes. What it needs is loaded when it is used.
// Test: test/e2e/archive.test.ts.
import type { ExportedView, ImportedView } from '../../api/history-views.ts'
import type { Uuid } from '../../kernel/types.ts'
import type { ExportParts } from './export.ts'
import type { Importer, ImportParts } from './import.ts'

interface ArchiveParts extends ExportParts, ImportParts {
  readonly store: ExportParts['store'] & ImportParts['store']
  /** keeps it from being removed meanwhile */
  readonly reading: <T>(ref: string, work: (uuid: Uuid) => Promise<T>) => Promise<T>
}

export class Archive {
  readonly #parts: ArchiveParts
  #importer: Promise<Importer> | null = null

  constructor(parts: ArchiveParts) {
    this.#parts = parts
  }

  async export(ref: string, dir: string, signal: AbortSignal): Promise<ExportedView> {
    const { exportProcess } = await import('./export.ts')
    return this.#parts.reading(ref, (uuid) => exportProcess(this.#parts, uuid, dir, signal))
  }

  async import(dir: string, signal: AbortSignal): Promise<ImportedView> {
    this.#importer ??= import('./import.ts').then(({ Importer }) => new Importer(this.#parts))
    return (await this.#importer).import(dir, signal)
  }
}
