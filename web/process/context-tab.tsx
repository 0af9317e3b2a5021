// The context that the model of a process sees now: one bar for all blocks, and a row for each. A row has the size of its block, and
// whether a compaction keeps it. Test: test/e2e/web/process/tabs.test.ts.
import type { JSX } from 'preact'
import type { ContextBlockView, ContextView } from '../../src/api/views/context.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { formatCount, formatTokens } from '../../src/faces/format.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { callApi } from '../session-api.ts'
import { useLive } from '../live.ts'
import { RowWindow } from '../parts/row-window.tsx'

const BLOCK_HEIGHT = 28

const KINDS: Readonly<Record<ContextBlockView['kind'], string>> = {
  system: 'system prompt',
  message: 'message',
  summary: 'summary of earlier messages',
  answer: 'answer',
  results: 'results of tools',
}

export function ContextTab({ row }: { readonly row: RowView }): JSX.Element {
  const { value, error } = useLive<ContextView>(row.uuid, 'context', () => callApi(`/v1/processes/${row.uuid}/context?text=1`))
  if (value.value === null) return <p class={error.value === null ? 'quiet' : 'problem'}>{error.value ?? 'The context is being read.'}</p>
  const context = value.value
  return (
    <section class="process-tab context-tab" aria-label="Context">
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      <p>{sizeText(context)}</p>
      <ContextBar context={context} />
      {context.blocks.length === 0 ? (
        <p class="quiet">
          {context.known === 'tokens' ? 'Its agent keeps the context itself, so reeve knows only its size.' : 'It is empty.'}
        </p>
      ) : (
        <>
          {context.more === 0 ? null : <p class="quiet">{formatCount(context.more, 'earlier block')} not shown.</p>}
          <RowWindow
            class="list"
            count={context.blocks.length}
            rowHeight={BLOCK_HEIGHT}
            selected={null}
            attributes={{ tabIndex: 0, role: 'region', 'aria-label': 'Blocks of the context' }}
            draw={(index, top) => {
              const block = context.blocks[index]
              return block ? <BlockRow key={index} uuid={row.uuid} block={block} top={top} /> : <></>
            }}
          />
        </>
      )}
    </section>
  )
}

function sizeText({ tokens, window, compactsAt, compactedStep }: ContextView): string {
  return [
    window === null ? `${formatTokens(tokens)} tokens` : `${formatTokens(tokens)} of ${formatTokens(window)} tokens`,
    ...(window === null ? [] : [`${Math.round((100 * tokens) / window)} %`]),
    ...(compactsAt === null ? [] : [`compacted at ${formatTokens(compactsAt)}`]),
    ...(compactedStep === null ? [] : [`last compacted after step ${compactedStep}`]),
  ].join(' · ')
}

/** Solid: what a compaction keeps; pale: what a summary replaces; a line where reeve compacts. */
function ContextBar({ context: { tokens, window, compactsAt, blocks } }: { readonly context: ContextView }): JSX.Element | null {
  if (window === null || window <= 0) return null
  const kept = blocks.reduce((sum, block) => sum + (block.isKept ? block.tokens : 0), 0)
  const all = blocks.reduce((sum, block) => sum + block.tokens, 0)
  const used = Math.min(100, (100 * tokens) / window)
  const keptPart = all === 0 ? used : (used * kept) / all
  return (
    <svg
      class="context-bar"
      viewBox="0 0 100 8"
      preserveAspectRatio="none"
      role="img"
      aria-label={`${Math.round(used)} % of the window is used, and a compaction now keeps ${Math.round((100 * kept) / Math.max(1, all))} % of that`}
    >
      <rect class="track" width="100" height="8" />
      <rect class="reserved" width={used} height="8" />
      <rect class="used" width={keptPart} height="8" />
      {compactsAt === null ? null : <rect class="warn" x={Math.min(99.5, (100 * compactsAt) / window)} width="0.4" height="8" />}
    </svg>
  )
}

function BlockRow({ uuid, block, top }: { readonly uuid: string; readonly block: ContextBlockView; readonly top: number }): JSX.Element {
  return (
    <div class={`context-row${block.isKept ? '' : ' replaced'}`} style={{ transform: `translateY(${top}px)` }}>
      <span>{KINDS[block.kind]}</span>
      <span>{block.fromStep === null ? '' : <a href={`/p/${uuid}/steps/${block.fromStep}`}>step {block.fromStep}</a>}</span>
      <span class="number">{formatTokens(block.tokens)}~</span>
      <span class="quiet">{block.isKept ? 'kept' : 'replaced'}</span>
      <span class="text quiet">{visibleText((block.text ?? '').slice(0, 400).toWellFormed()).replaceAll('\n', ' ')}</span>
    </div>
  )
}
