// Runs in a worker thread and executes the calls of the file tools. The file file-workers.ts starts the threads, and sends a thread one
// call at a time. It stops a call that never ends together with its thread. Loads no package except `ignore`, because an agent waits for
// the start of the thread.
// Test: test/processes/native/hostile-tool-calls.test.ts.
import { parentPort } from 'node:worker_threads'
import { truncateMiddle } from '../../common/truncate-middle.ts'
import { editFile } from './edit.ts'
import type { FileAnswer, FileCall, FileContext, FileInputs, FileToolName } from './file-inputs.ts'
import { globFiles } from './glob.ts'
import { grepFiles } from './grep.ts'
import { loadSkill } from './load-skill.ts'
import { listDirectory } from './ls.ts'
import { RefusedError } from './tool-error.ts'
import { readFile } from './read.ts'
import type { ToolOutput } from './tool.ts'
import { writeFile } from './write.ts'
import { errorText } from '../../../kernel/util/error-text.ts'

type FileToolFunction<N extends FileToolName> = (input: FileInputs[N], context: FileContext) => Promise<string | ToolOutput>

const FILE_TOOL_FUNCTIONS: { readonly [N in FileToolName]: FileToolFunction<N> } = {
  read: readFile,
  write: writeFile,
  edit: editFile,
  ls: listDirectory,
  glob: globFiles,
  grep: grepFiles,
  skill: loadSkill,
}

async function runCall({ name, input, ...context }: FileCall): Promise<FileAnswer> {
  try {
    const output = await (FILE_TOOL_FUNCTIONS[name] as FileToolFunction<FileToolName>)(input, context)
    return { output: typeof output === 'string' ? truncateMiddle(output) : output }
  } catch (error) {
    const text = truncateMiddle(errorText(error))
    return error instanceof RefusedError ? { error: text, refused: error.capability } : { error: text }
  }
}

parentPort?.on('message', (call: FileCall) => {
  runCall(call).then(
    (answer) => parentPort?.postMessage(answer),
    // `runCall` returns each error of a tool. Any other error is a defect, which the end of the thread reports.
    () => process.exit(1),
  )
})
