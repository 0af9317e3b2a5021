// The files of two processes as they are now: what differs from the first to the second. Test: test/e2e/web/pages/compare.test.ts.
import { useMemo } from 'preact/hooks'
import type { JSX } from 'preact'
import type { ProcessDiffView } from '../../src/api/views/diff.ts'
import { formatCount } from '../../src/faces/format.ts'
import { diffByFile } from '../../src/faces/unified-diff.ts'
import { callApi } from '../session-api.ts'
import { useLive } from '../live.ts'
import { query, setQuery } from '../router.ts'
import { DiffView } from '../parts/diff-view.tsx'

export function FilesSideBySide({ a, b }: { readonly a: string; readonly b: string }): JSX.Element {
  const range = new URLSearchParams({ from: `${a}@now`, to: 'now', format: 'view' })
  const { value, error } = useLive<ProcessDiffView>(b, `files beside ${a}`, () => callApi(`/v1/processes/${b}/diff?${range}`))
  const diff = value.value
  const texts = useMemo(() => diffByFile(diff?.diff ?? ''), [diff?.diff])
  if (diff === null) return <p class={error.value === null ? 'quiet' : 'problem'}>{error.value ?? 'The files are being compared.'}</p>
  const selected = diff.files.find(({ path }) => path === query.value.get('path')) ?? diff.files[0]
  if (!selected) return <p class="quiet">No file differs.</p>
  return (
    <section class="files" aria-label="Files">
      <p class="quiet">
        {formatCount(diff.files.length, 'file')} · +{diff.insertions} −{diff.deletions}, from the first to the second
      </p>
      <div class="file-view">
        <ul class="file-list" aria-label="Changed files">
          {diff.files.map((file) => (
            <li key={file.path}>
              <button
                type="button"
                class={file === selected ? 'file selected' : 'file'}
                aria-pressed={file === selected}
                onClick={() => setQuery('path', file.path)}
              >
                <span class="path">{file.path}</span>
                <span class="number quiet">{file.insertions === null ? 'binary' : `+${file.insertions} −${file.deletions}`}</span>
              </button>
            </li>
          ))}
        </ul>
        <DiffView key={selected.path} path={selected.path} text={texts.get(selected.path) ?? ''} none="A binary file." />
      </div>
    </section>
  )
}
