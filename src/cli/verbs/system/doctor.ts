// `reeve doctor`: checks the system, and with `--models` whether the model providers can be used. Exits with 1 if a check failed. Test:
// test/e2e/cli/cli.test.ts.
import { BUILD } from '../../../api/build.ts'
import type { CheckView, ProviderCheckView } from '../../../api/views/daemon.ts'
import { formatTable, type Column } from '../../print/format-table.ts'
import type { Output } from '../../print/output.ts'
import { withWaitNote } from '../../follow/wait-note.ts'
import { oneLine, stripControls } from '../../print/text.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const verify = args.on('verify')
  const found = await withWaitNote(
    out,
    () => ({ key: 'checks', what: verify ? 'the daemon to read the whole store' : 'the checks', ends: 'Ctrl+C ends the wait' }),
    reeve.doctor({ verify }),
  )
  const checks = found.map((check) => (check.name === 'build' ? compareBuilds(check) : check))
  const providers = args.on('models')
    ? await withWaitNote(out, () => ({ key: 'models', what: 'the model providers', ends: 'Ctrl+C ends the wait' }), reeve.doctorModels())
    : null
  if (out.json) await out.value({ checks, ...(providers ? { providers } : {}) })
  else await show(checks, providers, out)
  return [...checks, ...(providers ?? [])].every(({ ok, optional }) => ok || optional) ? 0 : 1
}

/** Completes the check of the daemon's build: compares it with the build of this command, which may be newer. */
function compareBuilds(check: CheckView): CheckView {
  if (BUILD === null || check.detail.includes(BUILD)) return check
  return {
    ...check,
    ok: false,
    optional: true,
    detail: `the daemon has ${check.detail}, this command build ${BUILD}`,
    hint: '`reeve daemon upgrade` replaces the daemon',
  }
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
  const rows = providers.map((provider) =>
    [markOf(provider)[1], provider.name, provider.key?.from ?? 'not needed', provider.detail].map(oneLine),
  )
  for (const line of formatTable(columns, rows, out.columns, out.ellipsis)) await out.line(line)
}

function markOf({ ok, optional }: { ok: boolean; optional?: true | undefined }): ['green' | 'yellow' | 'red', string] {
  if (ok) return ['green', 'ok  ']
  return optional ? ['yellow', 'no  '] : ['red', 'FAIL']
}

function safeLine(mark: string, text: string): string {
  return `${mark}  ${stripControls(text).replaceAll('\n', '\n      ')}`
}
