// `reeve doctor`: what works here and what does not. Exit 1 when a check failed. Test: test/e2e/cli.test.ts.
import { patiently } from '../patience.ts'
import { safe } from '../text.ts'
import type { Call } from '../verbs.ts'

export async function run({ args, out, reeve }: Call): Promise<number> {
  const verify = args.on('verify')
  const checks = await patiently(out, () => (verify ? 'reading the whole store' : 'looking around'), reeve.doctor({ verify }))
  if (out.json) await out.value({ checks })
  for (const { name, ok, detail, hint, optional } of out.json ? [] : checks) {
    const mark = ok ? out.paint('green', 'ok  ') : optional ? out.paint('yellow', 'no  ') : out.paint('red', 'FAIL')
    await out.line(safeLine(mark, `${name}: ${detail}`))
    if (!ok && hint) await out.line(safeLine('    ', hint))
  }
  return checks.every(({ ok, optional }) => ok || optional) ? 0 : 1
}

function safeLine(mark: string, text: string): string {
  return `${mark}  ${safe(text).replaceAll('\n', '\n      ')}`
}
