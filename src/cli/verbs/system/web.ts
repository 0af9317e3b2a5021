// `reeve web`: opens a link to the page, lists and ends sessions, and closes the page.
// Tests: test/e2e/web/access/verb.test.ts, test/e2e/web/access/ssh.test.ts.
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import type { WebOpenBody, WebSessionView } from '../../../api/views/web.ts'
import { formatAgo } from '../../../faces/format.ts'
import { WEB_RIGHTS, type WebRight } from '../../../kernel/model/words.ts'
import { openBrowser, refuseInProcess } from '../../actions/open-browser.ts'
import { openWebLink } from '../../actions/open-web-link.ts'
import { UsageError } from '../../errors.ts'
import { formatTable, type Column } from '../../print/format-table.ts'
import { oneLine } from '../../print/text.ts'
import type { VerbCall } from '../../table/verb.ts'

const LINK_FLAGS = [
  ...['no-open', 'right', 'share', 'read-only', 'only', 'for', 'redact', 'label'],
  ...['port', 'allow-host', 'listen', 'tls-cert', 'tls-key', 'remember', 'ssh'],
]
/** the usual port with TLS */
const TLS_PORT = 7443
const OTHER_USES = ['sessions', 'revoke', 'stop']

export async function run(call: VerbCall): Promise<number> {
  const { args } = call
  refuseInProcess('reeve web')
  const uses = OTHER_USES.filter((flag) => args.on(flag))
  const withLink = LINK_FLAGS.find((flag) => args.on(flag))
  if (uses.length > 1 || (uses.length === 1 && withLink !== undefined))
    throw new UsageError(`--${uses[0]} does not go with --${uses[1] ?? withLink}`, 'See `reeve help web`.')
  if (args.words.length > 0 && !args.on('revoke'))
    throw new UsageError(`web does not take "${args.words[0]}"`, 'Only `--revoke` takes the id of a session; `--only` takes a process.')
  if (args.on('sessions')) return listSessions(call)
  if (args.on('revoke')) return revoke(call)
  if (args.on('stop')) return stop(call)
  return args.on('ssh') ? openOverSsh(call) : open(call)
}

/** Opens the page of another machine. `reeve web` there gets the flags about the link. */
async function openOverSsh({ args, out }: VerbCall): Promise<number> {
  const body = linkBody(args)
  if (body.proxyHost !== undefined || body.tls)
    throw new UsageError('--ssh does not go with --allow-host or --listen', 'ssh encrypts by itself.')
  if (args.on('share')) throw new UsageError('--ssh does not go with --share', 'Share the page on the machine itself.')
  const flags = ['right', 'only', 'label', 'for', 'port'].flatMap((name) => {
    const value = args.text(name)
    return value === undefined ? [] : [`--${name}`, value]
  })
  const switches = ['read-only', 'redact'].filter((name) => args.on(name)).map((name) => `--${name}`)
  const { openBySsh } = await import('../../actions/web-by-ssh.ts')
  const { link, url, ended } = await openBySsh(args.text('ssh') ?? '', [...flags, ...switches])
  const file = args.on('no-open') || out.json ? null : openBrowser(link)
  if (out.json) await out.value({ link, url })
  else if (file === null) await out.line(link)
  else await out.message(`the page opens in your browser, at ${url}`)
  await out.message('this command holds the connection; Ctrl+C ends it')
  return ended.finally(() => file?.remove())
}

function open(call: VerbCall): Promise<number> {
  const { args } = call
  const isForElsewhere = args.on('share') || args.on('allow-host') || args.on('listen')
  return openWebLink(call, linkBody(args), { mayOpenBrowser: !args.on('no-open') && !isForElsewhere })
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
  const proxyHost = args.text('allow-host')?.toLowerCase()
  const tls = tlsPart(args)
  if (proxyHost !== undefined && tls) throw new UsageError('--allow-host does not go with --listen', 'The proxy already terminates TLS.')
  if (args.on('remember') && proxyHost === undefined && !tls)
    throw new UsageError('--remember needs --allow-host or --listen', 'On loopback no certificate proves who answers.')
  const port = args.number('port')
  return {
    right: isReadOnly ? 'read' : ((right as WebRight | undefined) ?? 'all'),
    ...(only === undefined ? {} : { only }),
    ...(ttlMs === undefined ? {} : { ttlMs }),
    ...(label === undefined ? {} : { label }),
    ...(args.on('redact') ? { redact: true } : {}),
    ...(port === undefined ? {} : { port }),
    ...(proxyHost === undefined ? {} : { proxyHost }),
    ...(tls ? { tls } : {}),
    ...(args.on('remember') ? { remember: true } : {}),
  }
}

/** Returns the address with TLS, and its files; undefined: none is given. Without TLS the page is served on loopback only. */
function tlsPart(args: VerbCall['args']): WebOpenBody['tls'] {
  const [listen, cert, key] = [args.text('listen'), args.text('tls-cert'), args.text('tls-key')]
  if (listen === undefined && cert === undefined && key === undefined) return undefined
  if (listen === undefined) throw new UsageError('--tls-cert and --tls-key belong to --listen')
  if (cert === undefined || key === undefined)
    throw new UsageError(
      '--listen needs --tls-cert and --tls-key: beyond this machine the page is served only over TLS',
      'By ssh or through a proxy it needs no certificate of yours: see docs/guides/another-machine.md.',
    )
  const [, inBrackets, plain, portText] = /^(?:\[(.+)\]|([^:]+|[0-9a-fA-F:]+?))(?::(\d+))?$/.exec(listen) ?? []
  const [address, port] = [inBrackets ?? plain ?? '', Number(portText ?? TLS_PORT)]
  if (isIP(address) === 0 || port < 1 || port > 65_535)
    throw new UsageError(
      `--listen ${listen} is not an address`,
      'Give an IP address of this machine, as in 100.64.0.7:7443 or [fd7a::7]:7443.',
    )
  return { address, port, cert: resolve(cert), key: resolve(key) }
}

async function listSessions({ out, reeve }: VerbCall): Promise<number> {
  const { version: _, ...view } = await reeve.web.get()
  if (out.json) {
    await out.value(view)
    return 0
  }
  if (view.sessions.length > 0) {
    const columns: Column[] = ['ID', 'RIGHT', 'SINCE', 'LAST SEEN', 'SEES', 'WAY', 'ADDRESS', 'LABEL', 'BROWSER'].map((title) => ({
      title,
    }))
    for (const line of formatTable(columns, view.sessions.map(cells), out.columns, out.ellipsis)) await out.line(line)
  } else await out.message(view.url === null ? 'the page is closed' : `the page is open at ${view.url}, without a session`)
  if (view.reusedLinks > 0) await out.message(out.paintMessage('red', 'a link was used twice: it may have been seen'))
  return 0
}

function cells({ id, right, createdAt, lastSeenAt, only, redact, way, remembered, address, label, userAgent }: WebSessionView): string[] {
  const ago = (time: string): string => formatAgo(Date.now() - Date.parse(time))
  const sees = `${only === null ? 'all' : `…${only.slice(-6)} and below`}${redact ? ', redacted' : ''}`
  return [
    id,
    right,
    ago(createdAt),
    ago(lastSeenAt),
    sees,
    remembered ? `${way}, remembered` : way,
    address,
    oneLine(label ?? '-'),
    oneLine(userAgent),
  ]
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
