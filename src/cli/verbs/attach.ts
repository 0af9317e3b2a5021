// `reeve attach`: watches a running process and sends it messages. Test: test/e2e/cli/attach.test.ts.
import { createInterface } from 'node:readline'
import type { ProcessView } from '../../api/views/process.ts'
import type { Reeve } from '../../index.ts'
import { processTitle, hasEnded, isPlainCommandView } from '../print/process-text.ts'
import { UsageError } from '../errors.ts'
import { followProcess, type FollowPrinter } from '../follow/follow.ts'
import { Interrupts, type UserAction } from '../input/interrupts.ts'
import { errorText, type Output } from '../print/output.ts'
import { replayEvents } from '../follow/replay-events.ts'
import { fitWidth, oneLine } from '../print/text.ts'
import { resolveForRead } from '../input/which-process.ts'
import type { VerbCall } from '../table/verb.ts'

/** the number of past events that are printed first */
const PAST_EVENTS = 40
/** the exit code if that of the process is unknown */
const UNKNOWN_EXIT_CODE = 125

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const view = await resolveForRead(args.words[0] ?? '', out, (ref) => reeve.get(ref))
  if (view.driver === 'crew')
    throw new UsageError(
      `${processTitle(view)} is a crew, and takes no messages`,
      `\`reeve crew follow ${view.pid}\` follows it; attach to its members instead.`,
    )
  const printer = await createPrinter(view, out)
  if (hasEnded(view)) return await printEnded(view, reeve, out, printer)
  if (!out.isLively || !process.stdin.isTTY)
    return await attachLines(view, { reeve, out, printer, after: await replayEvents(reeve, view.uuid, { tail: 1 }, null) })
  const model = view.model === null ? '' : `, ${oneLine(view.model)}`
  await out.message(
    out.paintMessage(
      'dim',
      fitWidth(`${processTitle(view)}${model} | Ctrl+D detaches, /help lists commands`, out.messageColumns, out.ellipsis),
    ),
  )
  const { attachTerminal } = await import('../live/attach.ts')
  return await attachTerminal(view, { reeve, out, printer, from: { tail: PAST_EVENTS } })
}

async function createPrinter(view: ProcessView, out: Output): Promise<FollowPrinter> {
  if (!out.json && !isPlainCommandView(view)) return new (await import('../follow/live-printer.ts')).LivePrinter(out, { intent: true })
  const { CommandPrinter, JsonPrinter } = await import('../follow/plain-printers.ts')
  return out.json ? new JsonPrinter(out) : new CommandPrinter(out)
}

/** Prints the outcome of an ended process, on a terminal after its latest activity. */
async function printEnded(process: ProcessView, reeve: Reeve, out: Output, printer: FollowPrinter): Promise<number> {
  if (out.isLively) await replayEvents(reeve, process.uuid, { tail: PAST_EVENTS }, printer)
  await printer.printEnd(process)
  await out.message(`it has ended; ${adviceFor(process)}`)
  return process.exit?.code ?? UNKNOWN_EXIT_CODE
}

function adviceFor(process: ProcessView): string {
  if (!isPlainCommandView(process)) return `\`reeve resume ${process.pid}\` continues it`
  return process.input ? 'its input was not recorded, so it cannot run again' : `\`reeve resume --rerun ${process.pid}\` runs it again`
}

/** Attaches without a terminal: each line of stdin is a message, and the end of stdin detaches. */
async function attachLines(
  view: ProcessView,
  { reeve, out, printer, after }: { reeve: Reeve; out: Output; printer: FollowPrinter; after: number },
): Promise<number> {
  using interrupts = new Interrupts(out, { detachOnly: true })
  const lines = createInterface({ input: process.stdin, crlfDelay: Infinity })
  const onAction = (handler: (action: UserAction) => void): void => {
    interrupts.onAction(handler)
    sendLines(lines, view, reeve, out).then(
      () => handler('detach'),
      () => handler('detach'),
    )
  }
  try {
    return await followProcess(view, { reeve, out, printer, after, interrupts: { onAction } })
  } finally {
    lines.close()
  }
}

async function sendLines(lines: AsyncIterable<string>, process: ProcessView, reeve: Reeve, out: Output): Promise<void> {
  for await (const line of lines) {
    if (line.trim() === '') continue
    try {
      await reeve.send(process.uuid, line)
      if (/^\s*\d+\s*$/.test(line)) await explainNumber(process, line.trim(), reeve, out)
    } catch (error) {
      await out.raw('stderr', `${processTitle(process)} did not take a message: ${errorText(error, out.json)}\n`)
    }
  }
}

/** Reports that a number, which may have been meant as an answer, is a message. */
async function explainNumber({ uuid }: ProcessView, number: string, reeve: Reeve, out: Output): Promise<void> {
  const { asks, pid } = await reeve.get(uuid)
  if (asks.length > 0) await out.message(`${number} was sent as a message; \`reeve answer ${pid} ${number}\` answers the question`)
}
