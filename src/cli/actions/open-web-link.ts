// Opens a link to the page in the browser, or prints it. Watches the link until it no longer works, and reports a second use.
// Test: test/e2e/web/access/verb.test.ts.
import type { WebOpenBody, WebOpenedView } from '../../api/views/web.ts'
import { SIGINT_EXIT } from '../errors.ts'
import type { VerbCall } from '../table/verb.ts'
import { linkTo, openBrowser, type OpenedFile } from './open-browser.ts'

/** the longest wait of one request, in ms */
const WAIT_MS = 60_000

/**
 * Makes a link to the page, opens it in the browser or prints it, and watches it. `path`: the address below the page, such as `p/UUID`.
 */
export async function openWebLink(
  { out, reeve }: VerbCall,
  body: WebOpenBody,
  { path = '', mayOpenBrowser }: { readonly path?: string; readonly mayOpenBrowser: boolean },
): Promise<number> {
  const opened = await reeve.web.open(body)
  const { number } = opened
  const link = linkTo(opened, path)
  if (out.json) {
    await out.value({ link, url: opened.url, id: opened.link, usableMs: opened.usableMs, ...(number === null ? {} : { number }) })
    return 0
  }
  const file = mayOpenBrowser ? openBrowser(link) : null
  if (file === null) await out.line(link)
  else await out.message(`the page opens in your browser, at ${opened.url}`)
  if (number !== null)
    await out.message(`the browser asks for this number: ${number}. Your proxy must reach http://127.0.0.1:${opened.localPort}`)
  if (file === null && !out.isTerminal('stderr')) return 0
  if (file === null) await out.message(`this link works once, for ${number === null ? 'a minute' : 'five minutes'}`)
  await watchLink(opened, file, { out, reeve })
  return 0
}

/** Waits until a link no longer works. Removes its file at the first use, and reports each further use. */
async function watchLink(
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
    for (let uses = 0, wrongNumbers = 0, leftMs = usableMs; leftMs > 0;) {
      const now = await reeve.web.waitForLink(link, { uses, wrongNumbers, timeoutMs: Math.min(leftMs, WAIT_MS) })
      if (now.uses > 0) file?.remove()
      if (uses === 0 && now.uses === 1) await out.message('the link was used: your session has begun')
      if (now.uses > 1 && now.uses > uses)
        await out.message(out.paintMessage('red', 'the link was used twice: it may have been seen. `reeve web --revoke` ends all sessions'))
      if (now.wrongNumbers > wrongNumbers) await out.message(out.paintMessage('red', 'the link was opened with a wrong number'))
      if (uses === 0 && now.uses === 0 && now.usableMs === 0) await out.message('the link was not used, and no longer works')
      // Without a terminal there is no reader for a later warning.
      if (now.uses > 0 && !out.isTerminal('stderr')) return
      uses = now.uses
      wrongNumbers = now.wrongNumbers
      leftMs = now.usableMs
    }
  } finally {
    process.off('SIGINT', leave)
    file?.remove()
  }
}
