// Makes the path in a model `script:PATH` absolute. A relative path starts from the directory of the file that names the model. Pure.
// Test: test/tables/daemon/crew/up/definition.test.ts.
import { resolve } from 'node:path'

/** The model, with an absolute path if it is a script. `baseDir`: the directory of the file that names the model. */
export function withAbsoluteScriptPath(model: string, baseDir: string): string {
  return model.startsWith('script:') ? `script:${resolve(baseDir, model.slice('script:'.length))}` : model
}
