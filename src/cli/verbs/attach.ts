// `reeve attach`: watch a process that runs and talk to it. Test: test/e2e/cli-attach.test.ts.
import { createInterface } from 'node:readline'
import type { ProcessView } from '../../api/views.ts'
import type { Reeve } from '../../index.ts'
import { called, hasEnded, holders, isPlain } from '../describe.ts'
import { UsageError } from '../errors.ts'
import { follow, type View } from '../follow.ts'
import { Interrupts, type Wish } from '../interrupts.ts'
import { errorText, type Output } from '../output.ts'
import { past } from '../past.ts'
import { fit, oneLine } from '../text.ts'
import type { Call } from '../verbs.ts'

/** Events of its past that are shown first. */
const PAST_EVENTS = 40
const NO_CODE = 125

export async function run({ args, out, reeve }: Call): Promise<number> {
  const view = await reeve.get(args.words[0] ?? '')
  if (view.driver === 'crew') throw new UsageError(`${called(view)} is a crew, and takes no messages`, `\`reeve crew follow ${view.pid}\` shows what it does; its members can be attached to.`)
  const shown = await viewFor(view, out)
  if (hasEnded(view)) return await ended(view, reeve, out, shown)
  if (!out.isLively || !process.stdin.isTTY) return await attachLines(view, { reeve, out, view: shown, after: await past(reeve, view.uuid, { tail: 1 }, null) })
  const model = view.model === null ? '' : `, ${oneLine(view.model)}`
  await out.words(out.paintWords('dim', fit(`${called(view)}${model} | Ctrl+D leaves it running, /help tells more`, out.wordColumns, out.ellipsis)))
  const { attachTerminal } = await import('../live/attach.ts')
  return await attachTerminal(view, { reeve, out, view: shown, from: { tail: PAST_EVENTS } })
}

async function viewFor(view: ProcessView, out: Output): Promise<View> {
  if (!out.json && !isPlain(view)) return new (await import('../live-view.ts')).LiveView(out, { intent: true })
  const { CommandView, JsonView } = await import('../plain-views.ts')
  return out.json ? new JsonView(out) : new CommandView(out)
}

/** Its last words, on a terminal, and how it ended. */
async function ended(process: ProcessView, reeve: Reeve, out: Output, view: View): Promise<number> {
  if (out.isLively) await past(reeve, process.uuid, { tail: PAST_EVENTS }, view)
  await view.end(process)
  const next = isPlain(process) ? `\`reeve resume --rerun ${process.pid}\` runs it again` : `\`reeve resume ${process.pid}\` goes on with it`
  await out.words(`it has ended; ${next}`)
  return process.exit?.code ?? NO_CODE
}

/** Without a terminal: each line of stdin is a message, and its end detaches. */
async function attachLines(view: ProcessView, { reeve, out, view: shown, after }: { reeve: Reeve; out: Output; view: View; after: number }): Promise<number> {
  using interrupts = new Interrupts(out, { leaves: true })
  if (view.status === 'suspended') await out.words(`${out.pauseMark} ${holders(view)}; \`reeve resume ${view.pid}\` lets it go on`)
  const lines = createInterface({ input: process.stdin, crlfDelay: Infinity })
  const pass = (handler: (wish: Wish) => void): void => {
    interrupts.pass(handler)
    sendLines(lines, view, reeve, out).then(() => handler('detach'), () => handler('detach'))
  }
  try {
    return await follow(view, { reeve, out, view: shown, after, interrupts: { pass } })
  } finally {
    lines.close()
  }
}

async function sendLines(lines: AsyncIterable<string>, process: ProcessView, reeve: Reeve, out: Output): Promise<void> {
  for await (const line of lines) {
    if (line.trim() === '') continue
    try {
      await reeve.send(process.uuid, line)
    } catch (error) {
      await out.raw('stderr', `${called(process)} did not take a message: ${errorText(error, out.json)}\n`)
    }
  }
}
