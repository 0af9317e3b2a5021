// `reeve web`: makes a link to the page and opens it, lists and ends sessions, and closes the page. Watches its link until the code is
// void, and reports a second use. Test: test/e2e/web/verb.test.ts.
import type { WebOpenBody, WebOpenedView, WebSessionView } from '../../../api/views/web.ts'
import { formatAgo } from '../../../faces/format.ts'
import { WEB_RIGHTS, type WebRight } from '../../../kernel/model/words.ts'
import { openBrowser, type OpenedFile } from '../../actions/open-browser.ts'
import { Failure, UsageError } from '../../errors.ts'
import { formatTable, type Column } from '../../print/format-table.ts'
import { oneLine } from '../../print/text.ts'
import type { VerbCall } from '../../table/verb.ts'

const LINK_FLAGS = ['no-open', 'right', 'share', 'read-only', 'only', 'for', 'redact', 'label']
const OTHER_USES = ['sessions', 'revoke', 'stop']
/** the exit code of a program that SIGINT has ended: 128 + 2 */
const SIGINT_EXIT = 130

export async function run(call: VerbCall): Promise<number> {
  const { args } = call
  if (process.env['REEVE_PROC'])
    throw new Failure(1, 'a process of reeve cannot open the page: an agent is not the user', 'Run `reeve web` in your own terminal.')
  const uses = OTHER_USES.filter((flag) => args.on(flag))
  const withLink = LINK_FLAGS.find((flag) => args.on(flag))
  if (uses.length > 1 || (uses.length === 1 && withLink !== undefined))
    throw new UsageError(`--${uses[0]} does not go with --${uses[1] ?? withLink}`, 'See `reeve help web`.')
  if (args.words.length > 0 && !args.on('revoke'))
    throw new UsageError(`what is "${args.words[0]}"?`, 'Only `--revoke` takes the id of a session; `--only` takes a process.')
  if (args.on('sessions')) return listSessions(call)
  if (args.on('revoke')) return revoke(call)
  return args.on('stop') ? stop(call) : open(call)
}

async function open({ args, out, reeve }: VerbCall): Promise<number> {
  const body = linkBody(args)
  const opened = await reeve.web.open(body)
  const link = `${opened.url}#k=${opened.code}`
  if (out.json) {
    await out.value({ link, url: opened.url, id: opened.link, usableMs: opened.usableMs })
    return 0
  }
  const file = args.on('no-open') || args.on('share') ? null : openBrowser(link)
  if (file === null) await out.line(link)
  else await out.message(`the page opens in your browser, at ${opened.url}`)
  if (file === null && !out.isTerminal('stderr')) return 0
  if (file === null) await out.message('this link works once, for a minute')
  await watch(opened, file, { out, reeve })
  return 0
}

function linkBody(args: VerbCall['args']): WebOpenBody {
  const isReadOnly = args.on('read-only')
  const narrowing = ['share', 'only', 'redact'].find((flag) => args.on(flag))
  if (narrowing !== undefined && !isReadOnly)
    throw new UsageError(`--${narrowing} needs --read-only`, 'Such a session only reads, and the flag makes that plain.')
  const right = args.text('right')
  if (right !== undefined && !WEB_RIGHTS.some((known) => known === right))
    throw new UsageError(`there is no right "${right}"`, `The rights are ${WEB_RIGHTS.join(', ')}.`)
  if (right !== undefined && isReadOnly && right !== 'read') throw new UsageError(`--read-only does not go with --right ${right}`)
  const [only, ttlMs, label] = [args.text('only'), args.duration('for'), args.text('label')]
  return {
    right: isReadOnly ? 'read' : ((right as WebRight | undefined) ?? 'all'),
    ...(only === undefined ? {} : { only }),
    ...(ttlMs === undefined ? {} : { ttlMs }),
    ...(label === undefined ? {} : { label }),
    ...(args.on('redact') ? { redact: true } : {}),
  }
}

/** Waits until the code of a link is void. Removes its file at the first use, and reports each further one. */
async function watch(
  { link, usableMs }: WebOpenedView,
  file: OpenedFile | null,
  { out, reeve }: Pick<VerbCall, 'out' | 'reeve'>,
): Promise<void> {
  const leave = (): void => {
    file?.remove()
    process.exit(SIGINT_EXIT)
  }
  process.once('SIGINT', leave)
  try {
    for (let uses = 0, leftMs = usableMs; leftMs > 0;) {
      const now = await reeve.web.waitForLink(link, { uses, timeoutMs: leftMs })
      if (now.uses > 0) file?.remove()
      if (uses === 0 && now.uses === 1) await out.message('the link was used: your session has begun')
      if (now.uses > 1 && now.uses > uses)
        await out.message(out.paintMessage('red', 'the link was used twice: it may have been seen. `reeve web --revoke` ends all sessions'))
      if (uses === 0 && now.uses === 0 && now.usableMs === 0) await out.message('the link was not used, and is void now')
      // Without a terminal there is no reader for a later warning.
      if (now.uses > 0 && !out.isTerminal('stderr')) return
      uses = now.uses
      leftMs = now.usableMs
    }
  } finally {
    process.off('SIGINT', leave)
    file?.remove()
  }
}

async function listSessions({ out, reeve }: VerbCall): Promise<number> {
  const { version: _, ...view } = await reeve.web.get()
  if (out.json) {
    await out.value(view)
    return 0
  }
  if (view.sessions.length > 0) {
    const columns: Column[] = ['ID', 'RIGHT', 'SINCE', 'LAST SEEN', 'SEES', 'ADDRESS', 'LABEL', 'BROWSER'].map((title) => ({ title }))
    for (const line of formatTable(columns, view.sessions.map(cells), out.columns, out.ellipsis)) await out.line(line)
  } else await out.message(view.url === null ? 'the page is closed' : `the page is open at ${view.url}, without a session`)
  if (view.reusedLinks > 0) await out.message(out.paintMessage('red', 'a link was used twice: it may have been seen'))
  return 0
}

function cells({ id, right, createdAt, lastSeenAt, only, redact, address, label, userAgent }: WebSessionView): string[] {
  const ago = (time: string): string => formatAgo(Date.now() - Date.parse(time))
  const sees = `${only === null ? 'all' : `…${only.slice(-6)} and below`}${redact ? ', redacted' : ''}`
  return [id, right, ago(createdAt), ago(lastSeenAt), sees, address, oneLine(label ?? '-'), oneLine(userAgent)]
}

async function revoke({ args, out, reeve }: VerbCall): Promise<number> {
  const [id] = args.words
  const { revoked } = await reeve.web.revoke(id)
  if (out.json) await out.value({ revoked })
  else
    await out.message(id === undefined ? `${revoked} ${revoked === 1 ? 'session has' : 'sessions have'} ended` : `session ${id} has ended`)
  return 0
}

async function stop({ out, reeve }: VerbCall): Promise<number> {
  const { wasOpen } = await reeve.web.stop()
  if (out.json) await out.value({ wasOpen })
  else await out.message(wasOpen ? 'the page is closed' : 'the page was closed already')
  return 0
}
