// The files that a process changed between two states, and the diff of one of them. The states are in the address, so that a link shows the
// same. Test: test/e2e/web/files.test.ts.
import { useMemo } from 'preact/hooks'
import type { JSX } from 'preact'
import type { ChangedFileView, ProcessDiffView, ProcessFilesView } from '../../src/api/views/diff.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { fileTreeLines } from '../../src/faces/file-tree.ts'
import { formatCount } from '../../src/faces/format.ts'
import { diffByFile } from '../../src/faces/unified-diff.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { callApi } from '../session-api.ts'
import { useLive } from '../live.ts'
import { asOf } from './address.ts'
import { FileTree } from './file-tree.tsx'
import { query, setQuery } from '../router.ts'
import { DiffLayout, DiffView } from '../parts/diff-view.tsx'

interface Changes {
  readonly files: ProcessFilesView
  readonly diff: ProcessDiffView
}

/** Why a process without a worktree has no files, by its kind. Agents report their edits. */
const WITHOUT_FILES: Partial<Readonly<Record<RowView['kind'], string>>> = {
  command: 'reeve records no files of a command without a worktree. What it changed is in its directory',
  supervisor: 'A supervisor changes no files itself. Each process below it has its own.',
  run: 'A run changes no files itself. Each of its nodes has its own.',
}

export function FilesTab({ row }: { readonly row: RowView }): JSX.Element {
  const none = row.branch === null ? WITHOUT_FILES[row.kind] : undefined
  if (none === undefined) return <FilesOf row={row} />
  return (
    <section class="files" aria-label="Files">
      <p class="quiet">{row.kind === 'command' ? `${none}, ${visibleText(row.directory)}.` : none}</p>
    </section>
  )
}

function FilesOf({ row }: { readonly row: RowView }): JSX.Element {
  const from = query.value.get('from') ?? ''
  // While the process is shown as of a step, its files are those of that step.
  const to = asOf.value === null ? (query.value.get('to') ?? '') : String(asOf.value)
  const range = new URLSearchParams({ ...(from === '' ? {} : { from }), ...(to === '' ? {} : { to }) })
  const { value, error } = useLive<Changes>(row.uuid, `files ${range}`, () => readChanges(row.uuid, range))
  return (
    <section class="files" aria-label="Files">
      <RangeBar row={row} from={from} to={to} />
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      {value.value === null ? (
        error.value === null ? (
          <p class="quiet">The files are being compared.</p>
        ) : null
      ) : (
        <ChangedFiles changes={value.value} />
      )}
    </section>
  )
}

async function readChanges(uuid: string, range: URLSearchParams): Promise<Changes> {
  const [files, diff] = await Promise.all([
    callApi<ProcessFilesView>(`/v1/processes/${uuid}/files?${range}`),
    callApi<ProcessDiffView>(`/v1/processes/${uuid}/diff?format=view&${range}`),
  ])
  return { files, diff }
}

function RangeBar({ row, from, to }: { readonly row: RowView; readonly from: string; readonly to: string }): JSX.Element {
  const steps = Array.from({ length: row.step }, (_, index) => String(row.step - index))
  return (
    <p class="buttons range">
      <label>
        from{' '}
        <select aria-label="from" value={from} onChange={(event) => setQuery('from', event.currentTarget.value)}>
          <option value="">the beginning</option>
          {row.origin ? <option value="origin">its origin</option> : null}
          <StepOptions steps={steps} />
        </select>
      </label>
      <label>
        to{' '}
        <select aria-label="to" value={to} onChange={(event) => setQuery('to', event.currentTarget.value)}>
          <option value="">now</option>
          <StepOptions steps={steps} />
        </select>
      </label>
    </p>
  )
}

function StepOptions({ steps }: { readonly steps: readonly string[] }): JSX.Element {
  return (
    <>
      {steps.map((step) => (
        <option key={step} value={step}>
          step {step}
        </option>
      ))}
    </>
  )
}

function ChangedFiles({ changes: { files, diff } }: { readonly changes: Changes }): JSX.Element {
  const texts = useMemo(() => diffByFile(diff.diff ?? ''), [diff.diff])
  const wanted = query.value.get('path')
  const selected = files.files.find(({ path }) => path === wanted) ?? firstInTree(files.files)
  const notes = [
    ...(files.of === 'reported' ? ['As its agent reported them: without a worktree, changes by programs are missing.'] : []),
    ...(files.more > 0 ? [`${formatCount(files.more, 'more file')} not shown.`] : []),
    ...(files.left.length + files.leftMore > 0
      ? [`${formatCount(files.left.length + files.leftMore, 'file')} not recorded: too large, unreadable, or repositories of their own.`]
      : []),
  ]
  return (
    <>
      {notes.map((note) => (
        <p key={note} class="quiet">
          {note}
        </p>
      ))}
      {selected ? (
        <div class="file-view">
          <FileTree files={files.files} selected={selected} onSelect={(path) => setQuery('path', path)} />
          <FileDiff key={selected.path} file={selected} text={texts.get(selected.path)} isCut={diff.left.includes(selected.path)} />
        </div>
      ) : (
        <p class="quiet">No file differs.</p>
      )}
    </>
  )
}

/** The first file of the list as the tree shows it. */
function firstInTree(files: readonly ChangedFileView[]): ChangedFileView | undefined {
  return fileTreeLines(files, new Set()).flatMap((line) => (line.kind === 'file' ? [line.file] : []))[0]
}

interface FileDiffProps {
  readonly file: ChangedFileView
  readonly text: string | undefined
  readonly isCut: boolean
}

function FileDiff({ file, text, isCut }: FileDiffProps): JSX.Element {
  return (
    <section class="file-diff" aria-label={file.path} data-path={file.path}>
      <header>
        <h3>{visibleText(file.from === null ? file.path : `${file.from} → ${file.path}`)}</h3>
        <span class="quiet">{stepsText(file)}</span>
        <DiffLayout />
      </header>
      {isCut ? <p class="problem">The file is too large: a part of its diff is not shown.</p> : null}
      <DiffView path={file.path} text={text ?? ''} none={file.insertions === null ? 'A binary file.' : 'No line differs.'} canSplit />
    </section>
  )
}

/** the most steps that are named */
const MAX_STEPS = 12

function stepsText({ steps }: ChangedFileView): string {
  if (steps.length === 0) return ''
  if (steps.length > MAX_STEPS) return `changed by ${formatCount(steps.length, 'step')}`
  return `changed by ${steps.length === 1 ? 'step' : 'steps'} ${steps.join(', ')}`
}
