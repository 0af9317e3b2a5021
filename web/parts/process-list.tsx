// The list of living processes. Shows every text as text. Test: test/e2e/web/page.test.ts.
import type { JSX } from 'preact'
import { rows, type Row } from '../store.ts'

export function ProcessList(): JSX.Element {
  const all = rows.value
  if (all === null) return <p class="quiet">The list is being read.</p>
  if (all.length === 0)
    return (
      <section class="empty">
        <p>Nothing runs here yet.</p>
        <pre>reeve run "find out why the tests fail"</pre>
      </section>
    )
  return (
    <table class="rows">
      <caption class="hidden">Living processes</caption>
      <thead>
        <tr>
          {['PID', 'Name', 'Agent', 'Status', 'Step', 'About'].map((title) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {all.map((row) => (
          <ProcessRow key={row.uuid} row={row} />
        ))}
      </tbody>
    </table>
  )
}

function ProcessRow({ row }: { readonly row: Row }): JSX.Element {
  return (
    <tr data-uuid={row.uuid} data-status={row.status}>
      <td class="number">{row.pid}</td>
      <th scope="row">{row.name ?? '—'}</th>
      <td>{row.agent}</td>
      <td>
        <span class={`status ${row.status}`}>{row.status}</span>
      </td>
      <td class="number">{row.step}</td>
      <td class="about">{row.note ?? row.about}</td>
    </tr>
  )
}
