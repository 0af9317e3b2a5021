// `reeve compose resume`: a node of a run goes on, or a fork of it. Test: test/e2e/cli-compose.test.ts.
import { pickRun } from '../compose-pick.ts'
import { UsageError } from '../errors.ts'
import { shortId } from '../format.ts'
import { oneLine, safe } from '../text.ts'
import type { NodeView } from '../../api/compose-views.ts'
import type { Call } from '../verbs.ts'

export async function run({ args, out, reeve }: Call): Promise<number> {
  const [ref] = args.words
  const name = args.text('node')
  const fromStep = args.number('from-step')
  const message = args.text('message')
  if (name === undefined) throw new UsageError('compose resume needs --node NAME', '`reeve resume RUN` goes on with a whole run; `reeve compose ps` lists the nodes.')
  if (fromStep !== undefined && !args.on('fork')) throw new UsageError('--from-step needs --fork', 'A process goes on from its last step; a fork of it can begin at an earlier one.')
  const before = ref === undefined ? pickRun(await reeve.compose.list(), process.cwd()) : await reeve.compose.get(ref)
  const { run: after, note } = await reeve.compose.resume(before.uuid, { node: name, ...(message === undefined ? {} : { message }), ...(args.on('fork') ? { fork: true } : {}), ...(fromStep === undefined ? {} : { fromStep }) })
  const [was, is] = [before, after].map(({ nodes }) => nodes.find((node) => node.name === name))
  if (out.json) await out.value({ run: after, ...(note === undefined ? {} : { note }) })
  else {
    await out.words(safe(`node ${name} of run ${after.name ?? after.pid}: ${wordsOf(was, is, args.on('fork'))}${note === undefined ? '' : `; ${note}`}`))
    if (args.on('fork') && is?.process) await out.line(is.process.uuid)
  }
  return 0
}

/** `PID 5 spawned (provider/model) | resumed from 4a2910cf`. */
function wordsOf(was: NodeView | undefined, is: NodeView | undefined, forked: boolean): string {
  const process = is?.process
  if (!process) return 'it starts'
  const origin = was?.process ? ` | ${forked ? 'forked' : 'resumed'} from ${shortId(was.process.uuid)}` : ''
  return was?.process?.pid === process.pid ? process.status : `PID ${process.pid} spawned (${oneLine(process.model ?? process.agent)})${origin}`
}
