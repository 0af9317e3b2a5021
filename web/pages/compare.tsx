// Two processes side by side, usually forks: the settings in which they differ, their costs and ends, the steps of each, and their files.
// Test: test/e2e/web/pages/compare.test.ts.
import type { JSX } from 'preact'
import type { CompareView, LineageNodeView } from '../../src/api/views/lineage.ts'
import { formatCost, formatCount } from '../../src/faces/format.ts'
import { callApi } from '../session-api.ts'
import { commandName, nameOf } from '../../src/faces/process-names.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { useReader } from '../live.ts'
import { CommandLine } from '../parts/command-line.tsx'
import { FilesSideBySide } from '../compare/files-side-by-side.tsx'
import { NodeMark } from '../compare/node-mark.tsx'
import { StepsSideBySide } from '../compare/steps-side-by-side.tsx'
import { hasRows, rowSignal, watchList } from '../rows.ts'
import { query, setQuery, type PageProps } from '../router.ts'
import { WideTable } from '../parts/wide-table.tsx'

const VIEWS = ['steps', 'files'] as const

export function ComparePage({ path: [, a = '', b = ''] }: PageProps): JSX.Element {
  const { value, error } = useReader(
    () => watchList() >= 0 && rowSignal(a).value !== null && rowSignal(b).value !== null && hasRows(),
    `compare ${a} ${b}`,
    () => callApi<CompareView>(`/v1/compare?${new URLSearchParams({ a, b })}`),
  )
  const both = value.value
  const view = VIEWS.find((name) => name === query.value.get('view')) ?? 'steps'
  return (
    <section class="compare" aria-label="Compare">
      <nav class="ancestors" aria-label="Ancestors">
        <a href="/">Fleet</a>
        {' / '}
        <a href={`/p/${b}/lineage`}>forks</a>
      </nav>
      <h2>Compare</h2>
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      {both === null ? (
        error.value === null ? (
          <p class="quiet">The processes are being compared.</p>
        ) : null
      ) : (
        <>
          <Heads both={both} />
          <Settings both={both} />
          <p class="buttons" role="group" aria-label="View">
            {VIEWS.map((name) => (
              <button key={name} type="button" aria-pressed={view === name} onClick={() => setQuery('view', name === 'steps' ? '' : name)}>
                {name}
              </button>
            ))}
          </p>
          {view === 'files' ? (
            <>
              <FilesSideBySide a={both.a.uuid} b={both.b.uuid} />
              <CommandLine words={['reeve', 'diff', '--from', `${commandName(both.a)}@now`, commandName(both.b)]} />
            </>
          ) : (
            <StepsSideBySide a={both.a.uuid} b={both.b.uuid} commonStep={both.commonStep} />
          )}
        </>
      )}
    </section>
  )
}

function Heads({ both: { a, b } }: { readonly both: CompareView }): JSX.Element {
  return (
    <div class="heads">
      {[a, b].map((node) => (
        <Head key={node.uuid} node={node} />
      ))}
    </div>
  )
}

function Head({ node }: { readonly node: LineageNodeView }): JSX.Element {
  const { uuid, name, pid, step, costUsd, model, exit, lastText, originStep } = node
  return (
    <article class="head" data-uuid={uuid}>
      <h3>
        <a href={`/p/${uuid}`}>{nameOf({ name, pid })}</a> <NodeMark node={node} />
      </h3>
      <p>
        {formatCount(step ?? 0, 'step')} · {costUsd === 0 ? '-' : formatCost(costUsd)}
        {model === null ? '' : ` · ${model}`}
        {originStep === null ? '' : ` · forked after step ${originStep}`}
        {exit ? ` · ${visibleText(exit.reason)}` : ''}
      </p>
      {lastText === null ? null : <blockquote>{visibleText(lastText)}</blockquote>}
    </article>
  )
}

function Settings({ both: { changed } }: { readonly both: CompareView }): JSX.Element {
  if (changed.length === 0) return <p class="quiet">Their settings are the same.</p>
  return (
    <WideTable label="Settings that differ" titles={['setting', 'first', 'second']}>
      <tbody>
        {changed.map(({ field, a, b }) => (
          <tr key={field} data-field={field}>
            <th scope="row">{field}</th>
            <td class="long">{visibleText(a ?? 'none')}</td>
            <td class="long">{visibleText(b ?? 'none')}</td>
          </tr>
        ))}
      </tbody>
    </WideTable>
  )
}
