// `reeve compose resume`: resumes a node of a run, or replaces it by a fork. Test: test/e2e/cli/compose.test.ts.
import { pickRun } from '../../input/which-run.ts'
import { UsageError } from '../../errors.ts'
import { shortId } from '../../../faces/format.ts'
import { oneLine, stripControls } from '../../print/text.ts'
import type { NodeView } from '../../../api/views/compose.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const [ref] = args.words
  const name = args.text('node')
  const fromStep = args.number('from-step')
  const message = args.text('message')
  if (name === undefined)
    throw new UsageError(
      'compose resume needs --node NAME',
      '`reeve resume RUN` continues a whole run; `reeve compose ps` lists the nodes.',
    )
  if (fromStep !== undefined && !args.on('fork'))
    throw new UsageError('--from-step needs --fork', 'A process continues from its last step; only a fork can begin at an earlier one.')
  const before = ref === undefined ? pickRun(await reeve.compose.list(), process.cwd()) : await reeve.compose.get(ref)
  const { run: after, note } = await reeve.compose.resume(before.uuid, {
    node: name,
    ...(message === undefined ? {} : { message }),
    ...(args.on('fork') ? { fork: true } : {}),
    ...(fromStep === undefined ? {} : { fromStep }),
  })
  const [oldNode, newNode] = [before, after].map(({ nodes }) => nodes.find((node) => node.name === name))
  if (out.json) await out.value({ run: after, ...(note === undefined ? {} : { note }) })
  else {
    await out.message(
      stripControls(
        `node ${name} of run ${after.name ?? after.pid}: ${nodeResultText(oldNode, newNode, args.on('fork'))}${note === undefined ? '' : `; ${note}`}`,
      ),
    )
    if (args.on('fork') && newNode?.process) await out.line(newNode.process.uuid)
  }
  return 0
}

/** Describes the result for the node: `PID 5 spawned (provider/model) | resumed from 4a2910cf`. */
function nodeResultText(before: NodeView | undefined, after: NodeView | undefined, isFork: boolean): string {
  const process = after?.process
  if (!process) return 'it starts'
  const origin = before?.process ? ` | ${isFork ? 'forked' : 'resumed'} from ${shortId(before.process.uuid)}` : ''
  return before?.process?.pid === process.pid
    ? process.status
    : `PID ${process.pid} spawned (${oneLine(process.model ?? process.agent)})${origin}`
}
