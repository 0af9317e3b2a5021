// `reeve signals`: shows and changes the mask and the handlers of a process, and shows its pending and latest signals. Test:
// test/e2e/lifecycle/signals.test.ts.
import type { PendingSignalView, SentSignalView, SignalsView } from '../../api/views/process.ts'
import { formatElapsed, shortId, formatMoment } from '../../faces/format.ts'
import { parseSignalHandler, parseSignal } from '../input/signals.ts'
import { oneLine, padWidth } from '../print/text.ts'
import { resolveForRead } from '../input/which-process.ts'
import type { VerbCall } from '../table/verb.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const [ref = ''] = args.words
  const handlers = (args.list('handle') ?? []).map(parseSignalHandler)
  const block = args.list('block')?.map(parseSignal)
  const unblock = args.list('unblock')?.map(parseSignal)
  for (const [signal, handler] of handlers) await reeve.sighandle(ref, signal, handler)
  const masks = { ...(block ? { block } : {}), ...(unblock ? { unblock } : {}) }
  const view = await (block || unblock ? reeve.sigmask(ref, masks) : resolveForRead(ref, out, (resolvedRef) => reeve.signals(resolvedRef)))
  if (out.json) await out.value(view)
  else for (const [label, value] of rowsOf(view)) await out.line(`${out.paint('dim', padWidth(label, 8))}  ${value}`)
  return 0
}

function rowsOf({ mask, handlers, pending, recent }: SignalsView): [label: string, value: string][] {
  const now = Date.now()
  return [
    ['blocked', mask.join(', ') || 'none'],
    [
      'handlers',
      Object.entries(handlers)
        .map(([name, handler]) => `${name}=${handler}`)
        .join(', ') || 'none',
    ],
    ['pending', pending.map(pendingText).join('; ') || 'none'],
    ...recent.map((sent, index): [string, string] => [index === 0 ? 'sent' : '', sentSignalText(sent, now)]),
  ]
}

function pendingText({ signal, by, via, dueInMs }: PendingSignalView): string {
  return `${signal} by ${senderText(by, via)}${dueInMs === null ? ', until it is unblocked' : `, for at most ${formatElapsed(dueInMs)}`}`
}

/** Describes a sent signal: `SIGTERM by user (cli pid=123), 2026-11-20 13:36:55, 3 min ago: default; SIGKILL followed after 300 ms`. */
export function sentSignalText({ signal, by, via, root, disposition, at, escalatedMs }: SentSignalView, now: number): string {
  const target = root === null ? '' : ` to the subtree of ${shortId(root)}`
  return `${signal}${target} by ${senderText(by, via)}, ${formatMoment(at, now)}: ${disposition}${escalatedMs === null ? '' : `; SIGKILL followed after ${escalatedMs} ms`}`
}

function senderText(by: string, via: string | null): string {
  return oneLine(via === null ? by : `${by} (${via})`)
}
