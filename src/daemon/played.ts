// Whether a model that is played from a file can be: of a crew and of a run that is known before anything starts.
// Must never be loaded by who needs no script. Test: test/e2e/up-checks.test.ts.
import type { ProcessSpec } from '../kernel/types.ts'

const SCRIPT = 'script:'

/** Errors: AGENT_INVALID with the file, and the line of the first mistake. */
export async function checkPlayed({ model, cwd }: Pick<ProcessSpec, 'model' | 'cwd'>): Promise<void> {
  if (!model?.startsWith(SCRIPT)) return
  const { scriptModel } = await import('../drivers/native/script.ts')
  await scriptModel(model, { file: model.slice(SCRIPT.length), cwd })
}
