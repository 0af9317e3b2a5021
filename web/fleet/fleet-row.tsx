// One row of the fleet: mark, name, agent, why, time, step, context, cost, and the budget of the tree. Test: test/e2e/web/fleet.test.ts.
import { computed } from '@preact/signals'
import type { JSX } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'
import { formatTokens, treeCostText } from '../../src/faces/format.ts'
import { countTexts, markNameOf, markOf } from '../../src/faces/marks.ts'
import type { TreeLine } from '../../src/faces/tree.ts'
import { titleOf } from '../../src/faces/process-names.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { rowSignal, unseenEnds } from '../rows.ts'
import { navigate } from '../router.ts'
import { selectedUuid, toggleFold } from './list-state.ts'
import { perMinuteOf } from '../spending.ts'
import { BudgetBar } from '../parts/figures/budget-bar.tsx'
import { Elapsed } from '../parts/clock.tsx'
import { isNarrow } from '../frame/narrow.ts'
import { KindMark, MarkIcon, type KindIcon } from '../parts/icons.tsx'

/** the height of a row, in pixels, with one line or two; the style sheet has the same heights */
export const rowHeight = computed(() => (isNarrow.value ? 52 : 30))

export interface FleetRowProps {
  readonly line: TreeLine
  readonly index: number
  readonly top: number
  readonly isSelected: boolean
  readonly isTagged: boolean
}

export function FleetRow({ line, index, top, isSelected, isTagged }: FleetRowProps): JSX.Element {
  const row = rowSignal(line.uuid).value
  if (!row) return <></>
  const mark = markOf(row)
  return (
    <div
      id={`row-${row.uuid}`}
      class={`row ${mark.tone}${isSelected ? ' selected' : ''}${line.isContext ? ' context' : ''}${isTagged ? ' tagged' : ''}`}
      data-uuid={row.uuid}
      data-status={row.status}
      role="row"
      aria-level={line.depth + 1}
      aria-rowindex={index + 1}
      aria-selected={isSelected}
      {...(line.hasChildren ? { 'aria-expanded': !line.isFolded } : {})}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => (isNarrow.value ? navigate(`/p/${row.uuid}`) : (selectedUuid.value = row.uuid))}
      onDblClick={() => navigate(`/p/${row.uuid}`)}
    >
      <span role="rowheader" class="name" style={{ paddingInlineStart: `${line.depth * 1.1}rem` }}>
        <FoldButton line={line} />
        <span class="mark" role="img" aria-label={mark.word} title={mark.word}>
          <MarkIcon name={markNameOf(row)} />
        </span>
        <KindOf row={row} />
        <a href={`/p/${row.uuid}`} tabIndex={-1} title={visibleText(row.about)}>
          {titleOf(row)}
        </a>
        {row.unseen && unseenEnds.value.has(row.uuid) ? <span class="unseen">not seen</span> : null}
        {line.isFolded ? <FoldedSums row={row} /> : null}
      </span>
      <span role="gridcell" class="agent">
        {row.agent}
        {row.model === null ? null : <span class="quiet"> {row.model}</span>}
      </span>
      <span role="gridcell" class="why" title={visibleText(row.why?.text ?? row.note ?? '')}>
        {visibleText(row.why?.text ?? row.note ?? row.status)}
      </span>
      <span role="gridcell" class="number">
        <Elapsed row={row} />
      </span>
      <span role="gridcell" class="number">
        {row.step === 0 ? '' : row.step}
      </span>
      <span role="gridcell" class="number" title={contextTitle(row)}>
        {row.ctx ? `${Math.round((100 * row.ctx.used) / row.ctx.window)} %` : ''}
      </span>
      <span role="gridcell" class="number cost">
        {treeCostText(row)}
      </span>
      <span role="gridcell" class="budget">
        <BudgetBar row={row} usdPerMinute={row.sub.working > 0 ? perMinuteOf(row.uuid) : null} />
      </span>
    </div>
  )
}

function contextTitle({ ctx }: RowView): string {
  if (!ctx) return ''
  const compacted = ctx.compactsAt === null ? '' : `, compacted at ${formatTokens(ctx.compactsAt)}`
  return `${formatTokens(ctx.used)} of ${formatTokens(ctx.window)} tokens${compacted}`
}

function FoldButton({ line }: { readonly line: TreeLine }): JSX.Element {
  if (!line.hasChildren) return <span class="fold" />
  const onClick = (event: MouseEvent): void => {
    event.stopPropagation()
    toggleFold(line.uuid)
  }
  return (
    <button type="button" class="fold" tabIndex={-1} aria-label={line.isFolded ? 'unfold' : 'fold'} onClick={onClick}>
      <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" fill="currentColor">
        <path d={line.isFolded ? 'M6 4l5 4-5 4z' : 'M4 6l4 5 4-5z'} />
      </svg>
    </button>
  )
}

function KindOf({ row }: { readonly row: RowView }): JSX.Element | null {
  const icon: KindIcon | null = row.origin ? 'fork' : row.kind === 'agent' || row.kind === 'command' ? null : row.kind
  if (icon === null) return null
  const label = row.origin ? `fork after step ${row.origin.step ?? 'unknown'}` : row.kind
  return (
    <span class="kind" role="img" aria-label={label} title={label}>
      <KindMark name={icon} />
    </span>
  )
}

/** What is below a folded row; a question below it must not be hidden. */
function FoldedSums({ row: { sub } }: { readonly row: RowView }): JSX.Element {
  const text = countTexts(sub).join(', ')
  return <span class={sub.asking > 0 ? 'folded asks' : 'folded'}>{text}</span>
}
