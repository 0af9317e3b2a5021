// `reeve open`: opens the page of a process in the browser, or prints its link. Test: test/e2e/web/access/verb.test.ts.
import { refuseInProcess } from '../../actions/open-browser.ts'
import { openWebLink } from '../../actions/open-web-link.ts'
import { resolveForRead } from '../../input/which-process.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run(call: VerbCall): Promise<number> {
  const { args, out, reeve } = call
  refuseInProcess('reeve open')
  const { uuid } = await resolveForRead(args.words[0] ?? '', out, (ref) => reeve.get(ref))
  return openWebLink(call, { right: 'all' }, { path: `p/${uuid}`, mayOpenBrowser: !args.on('no-open') })
}
