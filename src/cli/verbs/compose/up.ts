// `reeve compose up`: starts a run and follows it, or shows the plan. Test: test/e2e/cli/compose.test.ts.
import { resolve } from 'node:path'
import { followRun } from '../../follow/compose.ts'
import { formatTable } from '../../print/format-table.ts'
import { formatCount } from '../../../faces/format.ts'
import { Interrupts, READY_QUESTION } from '../../input/interrupts.ts'
import { parseNewLimits } from '../../input/limit-flags.ts'
import { oneLine } from '../../print/text.ts'
import type { ComposeBody } from '../../../api/views/compose.ts'
import type { Args } from '../../input/args.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run(call: VerbCall): Promise<number> {
  const { args, out, reeve } = call
  if (args.on('dry-run')) return plan(call)
  const notes: string[] = []
  const onNote = (note: string): void => {
    notes.push(...note.split('\n'))
  }
  if (args.on('detach')) {
    const started = await reeve.compose.up(bodyOf(args), { onNote })
    if (out.json) await out.value({ run: started })
    else await out.line(started.uuid)
    for (const note of notes) await out.message(oneLine(note))
    return 0
  }
  using interrupts = new Interrupts(out, { detachOnly: false, question: READY_QUESTION })
  const { cursor: after } = await reeve.daemon()
  const started = await reeve.compose.up(bodyOf(args), { onNote })
  await out.message(
    `run ${started.name ?? started.pid} (PID ${started.pid}) of ${oneLine(started.file)}: ${formatCount(started.nodes.length, 'node')}`,
  )
  for (const note of notes) await out.message(oneLine(note))
  return await followRun(started, { reeve, out, after, interrupts })
}

async function plan({ args, out, reeve }: VerbCall): Promise<number> {
  const { version: _, ...planned } = await reeve.compose.plan(bodyOf(args))
  if (out.json) {
    await out.value(planned)
    return 0
  }
  const rows = planned.nodes.map(({ name, row, needs, agent, model, retries }) => [
    String(row + 1),
    name,
    needs.join(', ') || '-',
    oneLine(model ?? agent),
    retries === 0 ? '-' : String(retries),
  ])
  for (const line of formatTable(
    [{ title: 'ROW' }, { title: 'NODE' }, { title: 'NEEDS', min: 8 }, { title: 'RUNS', min: 8 }, { title: 'RETRIES', side: 'right' }],
    rows,
    out.columns,
    out.ellipsis,
  ))
    await out.line(line)
  await out.message(`${oneLine(planned.file)} is valid; nothing was started`)
  return 0
}

function bodyOf(args: Args): Omit<ComposeBody, 'cwd'> {
  const [file, name, parallel] = [args.text('file'), args.text('name'), args.number('parallel')]
  const limits = parseNewLimits(args)
  return {
    ...(file === undefined ? {} : { file: resolve(file) }),
    ...(args.words.length === 0 ? {} : { nodes: [...args.words] }),
    ...(name === undefined ? {} : { name }),
    ...(parallel === undefined ? {} : { parallel }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  }
}
