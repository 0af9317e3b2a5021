// Checks the script of a scripted model. Crews and compose runs check their scripts before they start any process.
// Loads the script code only if a script is used. Test: test/e2e/cli/up-checks.test.ts.
import type { ProcessSpec } from '../../kernel/model/process-spec.ts'

const SCRIPT_PREFIX = 'script:'

/** Checks the script of a spec, if it has one. Errors: AGENT_INVALID with the file and the line of the first mistake. */
export async function checkScript({ model, cwd }: Pick<ProcessSpec, 'model' | 'cwd'>): Promise<void> {
  if (!model?.startsWith(SCRIPT_PREFIX)) return
  const { scriptModel } = await import('../../drivers/native/scripts/script.ts')
  await scriptModel(model, { file: model.slice(SCRIPT_PREFIX.length), cwd })
}
