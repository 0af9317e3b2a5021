// Schemas of export and import, for src/api/views/archive.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { count, text, texts, version } from './fields.ts'

const identity = { uuid: text, pid: count, name: text.nullable() }

const exported = z.object({
  version,
  ...identity,
  dir: text.describe('the created directory: DIR/steps/UUID'),
  facts: count,
  steps: count,
  bytes: count,
})

const imported = z.object({
  version,
  processes: z.array(
    z.object({
      ...identity,
      facts: count,
      dir: text.describe('the directory that it was imported from'),
      warnings: texts.describe('problems that did not prevent the import'),
    }),
  ),
})

export const archiveAnswers = { exported, imported }

export const ARCHIVE_TYPES = {
  ExportedView: exported,
  ImportedView: imported,
}
