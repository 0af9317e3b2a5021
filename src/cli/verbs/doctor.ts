// `reeve doctor`: what works here and what does not; with `--models` also whether models can be called.
// Exit 1 when a check failed. Test: test/e2e/cli.test.ts.
import type { CheckView, ProviderCheckView } from '../../api/views.ts'
import { table, type Column } from '../columns.ts'
import type { Output } from '../output.ts'
import { patiently } from '../patience.ts'
import { oneLine, safe } from '../text.ts'
import type { Call } from '../verbs.ts'

export async function run({ args, out, reeve }: Call): Promise<number> {
  const verify = args.on('verify')
  const checks = await patiently(out, () => (verify ? 'reading the whole store' : 'looking around'), reeve.doctor({ verify }))
  const providers = args.on('models') ? await patiently(out, () => 'asking the providers of models', reeve.doctorModels()) : null
  if (out.json) await out.value({ checks, ...(providers ? { providers } : {}) })
  else await show(checks, providers, out)
  return [...checks, ...(providers ?? [])].every(({ ok, optional }) => ok || optional) ? 0 : 1
}

async function show(checks: readonly CheckView[], providers: readonly ProviderCheckView[] | null, out: Output): Promise<void> {
  for (const { name, ok, detail, hint, optional } of checks) {
    await out.line(safeLine(out.paint(...markOf({ ok, optional })), `${name}: ${detail}`))
    if (!ok && hint) await out.line(safeLine('    ', hint))
  }
  if (providers === null) return
  await out.line('')
  const mark = (cell: string, row: number): string => out.paint(markOf(providers[row] ?? { ok: true })[0], cell)
  const columns: Column[] = [{ title: '', paint: mark }, { title: 'PROVIDER' }, { title: 'KEY' }, { title: 'ANSWER', min: 20 }]
  const rows = providers.map((provider) => [markOf(provider)[1], provider.name, provider.key?.from ?? 'not needed', provider.detail].map(oneLine))
  for (const line of table(columns, rows, out.columns, out.ellipsis)) await out.line(line)
}

function markOf({ ok, optional }: { ok: boolean; optional?: true | undefined }): ['green' | 'yellow' | 'red', string] {
  if (ok) return ['green', 'ok  ']
  return optional ? ['yellow', 'no  '] : ['red', 'FAIL']
}

function safeLine(mark: string, text: string): string {
  return `${mark}  ${safe(text).replaceAll('\n', '\n      ')}`
}
