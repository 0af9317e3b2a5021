// `reeve compose up`: starts a run and follows it, or shows what would run. Test: test/e2e/cli-compose.test.ts.
import { resolve } from 'node:path'
import { followRun } from '../compose-follow.ts'
import { table } from '../columns.ts'
import { plural } from '../format.ts'
import { Interrupts } from '../interrupts.ts'
import { limitsOf } from '../limit-flags.ts'
import { oneLine } from '../text.ts'
import type { ComposeBody } from '../../api/compose-views.ts'
import type { Args } from '../args.ts'
import type { Call } from '../verbs.ts'

const QUESTION = '(d)etach, (s)top? Any other key goes on. '

export async function run(call: Call): Promise<number> {
  const { args, out, reeve } = call
  if (args.on('dry-run')) return plan(call)
  if (args.on('detach')) {
    const started = await reeve.compose.up(bodyOf(args))
    if (out.json) await out.value({ run: started })
    else await out.line(started.uuid)
    return 0
  }
  using interrupts = new Interrupts(out, { leaves: false, question: QUESTION })
  const { cursor: after } = await reeve.daemon()
  const started = await reeve.compose.up(bodyOf(args))
  await out.words(`run ${started.name ?? started.pid} (PID ${started.pid}) of ${oneLine(started.file)}: ${plural(started.nodes.length, 'node')}`)
  return await followRun(started, { reeve, out, after, interrupts })
}

async function plan({ args, out, reeve }: Call): Promise<number> {
  const { version: _, ...planned } = await reeve.compose.plan(bodyOf(args))
  if (out.json) {
    await out.value(planned)
    return 0
  }
  const rows = planned.nodes.map(({ name, row, needs, agent, model, retries }) => [String(row + 1), name, needs.join(', ') || '-', oneLine(model ?? agent), retries === 0 ? '-' : String(retries)])
  for (const line of table([{ title: 'ROW' }, { title: 'NODE' }, { title: 'NEEDS', min: 8 }, { title: 'RUNS', min: 8 }, { title: 'RETRIES', side: 'right' }], rows, out.columns, out.ellipsis)) await out.line(line)
  await out.words(`${oneLine(planned.file)} is right; nothing was started`)
  return 0
}

function bodyOf(args: Args): Omit<ComposeBody, 'cwd'> {
  const [file, name, parallel] = [args.text('file'), args.text('name'), args.number('parallel')]
  const limits = limitsOf(args)
  return {
    ...(file === undefined ? {} : { file: resolve(file) }), ...(args.words.length === 0 ? {} : { nodes: [...args.words] }), ...(name === undefined ? {} : { name }),
    ...(parallel === undefined ? {} : { parallel }), ...(Object.keys(limits).length === 0 ? {} : { limits }),
  }
}
