// Resolves the model of a member. The relative path of a script starts from the directory of the file that names it. Pure.
// Test: test/tables/daemon/crew/up/definition.test.ts.
import { resolve } from 'node:path'

/** The model, with an absolute path if it is a script. `baseDir`: the directory of the file that names the model. */
export function withAbsoluteScriptPath(model: string, baseDir: string): string {
  return model.startsWith('script:') ? `script:${resolve(baseDir, model.slice('script:'.length))}` : model
}
