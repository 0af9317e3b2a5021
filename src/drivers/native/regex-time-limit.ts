// Runs a function with a time limit: a regular expression from a model or a script may backtrack for ever. V8 can stop a regular expression
// only inside a script that has a time limit.
// Tests: test/tables/drivers/native/tools/file-tools.test.ts, test/processes/native/script-rules.test.ts.
import vm from 'node:vm'

const SCRIPT = new vm.Script('work()')
/** the global object of the script, created at first use */
let sandbox: vm.Context | undefined

/** Returns the result of `work`; null if it took longer than `ms` and was stopped. */
export function withTimeLimit<T>(ms: number, work: () => T): { readonly value: T } | null {
  let result: { readonly value: T } | null = null
  sandbox ??= vm.createContext({})
  sandbox['work'] = () => {
    result = { value: work() }
  }
  try {
    SCRIPT.runInContext(sandbox, { timeout: ms })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
  }
  delete sandbox['work']
  return result
}
