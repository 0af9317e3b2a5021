// `reeve models`: lists the models of the providers that can be used now, with their windows and prices. Exits with 1 if a provider with a
// key refused or did not answer. Test: test/e2e/models/models.test.ts.
import type { ModelView, ProviderModelsView } from '../../../api/views/daemon.ts'
import { withWaitNote } from '../../follow/wait-note.ts'
import { formatTable, type Column } from '../../print/format-table.ts'
import { formatTokens } from '../../../faces/format.ts'
import type { Output } from '../../print/output.ts'
import { oneLine } from '../../print/text.ts'
import type { VerbCall } from '../../table/verb.ts'

const COLUMNS: readonly Column[] = [
  { title: 'MODEL', min: 20 },
  { title: 'WINDOW', side: 'right' },
  { title: 'IN', side: 'right' },
  { title: 'CACHED', side: 'right' },
  { title: 'OUT', side: 'right' },
]

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const [provider] = args.words
  const providers = await withWaitNote(
    out,
    () => ({ key: 'models', what: 'the model providers', ends: 'Ctrl+C ends the wait' }),
    reeve.models({ provider }),
  )
  const models = providers.flatMap((each) => each.models ?? [])
  if (out.json) await out.value({ providers })
  else if (args.on('quiet')) for (const { model } of models) await out.line(oneLine(model))
  else await show(models, providers, { out, isOne: provider !== undefined })
  return providers.every(({ ok, optional }) => ok || (optional && provider === undefined)) ? 0 : 1
}

async function show(
  models: readonly ModelView[],
  providers: readonly ProviderModelsView[],
  { out, isOne }: { readonly out: Output; readonly isOne: boolean },
): Promise<void> {
  if (models.length > 0) {
    for (const line of formatTable(COLUMNS, models.map(cells), out.columns, out.ellipsis)) await out.line(line)
    await out.message(out.paintMessage('dim', 'prices in USD per million tokens; ? is unknown'))
  }
  const withoutKey = providers.filter(({ key }) => key?.from === 'missing')
  if (withoutKey.length > 0)
    await out.message(
      oneLine(`not asked, because the key is not set: ${withoutKey.map(({ name, key }) => `${name} (${key?.name})`).join(', ')}`),
    )
  if (!isOne && providers.every(({ ok }) => !ok)) await out.message('no provider can be used; `reeve help keys` explains how to set a key')
  for (const { name, ok, detail, optional, key, models: listed } of providers) {
    if (key?.from === 'missing') continue
    if (!ok && (!optional || isOne)) await out.message(out.paintMessage('red', oneLine(`${name}: ${detail}`)))
    else if (ok && listed === null) await out.message(oneLine(`${name}: ${detail}`))
  }
}

function cells({ model, window, usdPerMillion }: ModelView): string[] {
  return [
    oneLine(model),
    window === null ? '?' : formatTokens(window),
    ...[usdPerMillion?.input, usdPerMillion?.cacheRead, usdPerMillion?.output].map(priceText),
  ]
}

function priceText(usd: number | undefined): string {
  if (usd === undefined) return '?'
  return usd === 0 ? 'free' : usd.toFixed(usd < 0.1 ? 3 : 2)
}
