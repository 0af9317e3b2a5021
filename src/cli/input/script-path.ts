// Makes the path of a scripted model absolute, because the daemon has another working directory. Test: test/e2e/cli/crew.test.ts.
import { resolve } from 'node:path'

/** Makes the path in `script:FILE` absolute; other models stay unchanged. */
export function withAbsoluteScriptPath(model: string): string {
  return model.startsWith('script:') ? `script:${resolve(model.slice('script:'.length))}` : model
}
