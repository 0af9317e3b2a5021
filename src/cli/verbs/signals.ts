// `reeve signals`: mask, handlers, what waits and the last signals of a process. Test: test/e2e/signals.test.ts.
import type { PendingSignalView, SentSignalView, SignalsView } from '../../api/views.ts'
import { elapsed, shortId, when } from '../format.ts'
import { handlerOf, signalOf } from '../signals.ts'
import { oneLine, pad } from '../text.ts'
import type { Call } from '../verbs.ts'

export async function run({ args, out, reeve }: Call): Promise<number> {
  const [ref = ''] = args.words
  const handlers = (args.list('handle') ?? []).map(handlerOf)
  const block = args.list('block')?.map(signalOf)
  const unblock = args.list('unblock')?.map(signalOf)
  for (const [signal, handler] of handlers) await reeve.sighandle(ref, signal, handler)
  const masks = { ...(block ? { block } : {}), ...(unblock ? { unblock } : {}) }
  const view = await (block || unblock ? reeve.sigmask(ref, masks) : reeve.signals(ref))
  if (out.json) await out.value(view)
  else for (const [label, value] of rowsOf(view)) await out.line(`${out.paint('dim', pad(label, 8))}  ${value}`)
  return 0
}

function rowsOf({ mask, handlers, pending, recent }: SignalsView): [label: string, value: string][] {
  const now = Date.now()
  return [
    ['blocked', mask.join(', ') || 'none'],
    ['handlers', Object.entries(handlers).map(([name, handler]) => `${name}=${handler}`).join(', ') || 'none'],
    ['pending', pending.map(waits).join('; ') || 'none'],
    ...recent.map((sent, index): [string, string] => [index === 0 ? 'sent' : '', sentText(sent, now)]),
  ]
}

function waits({ signal, by, via, dueInMs }: PendingSignalView): string {
  return `${signal} by ${senderText(by, via)}${dueInMs === null ? ', until it is unblocked' : `, for ${elapsed(dueInMs)} at most`}`
}

/** `SIGTERM by user (cli pid=123), 2026-11-20 13:36:55, 3 min ago: default; SIGKILL followed after 300 ms` */
export function sentText({ signal, by, via, root, disposition, at, escalatedMs }: SentSignalView, now: number): string {
  const meant = root === null ? '' : ` to the subtree of ${shortId(root)}`
  return `${signal}${meant} by ${senderText(by, via)}, ${when(at, now)}: ${disposition}${escalatedMs === null ? '' : `; SIGKILL followed after ${escalatedMs} ms`}`
}

function senderText(by: string, via: string | null): string {
  return oneLine(via === null ? by : `${by} (${via})`)
}
