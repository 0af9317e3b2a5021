// One node of a run: why it waits, its questions, its process and its log. The user can send a message, or resume the node.
// Test: test/e2e/web/pages/runs.test.ts.
import { useState } from 'preact/hooks'
import type { JSX } from 'preact'
import type { NodeView, RunView } from '../../src/api/views/compose.ts'
import { dependentsOf } from '../../src/faces/graph-layout.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { failure, failureOf } from '../actions.ts'
import { callApi } from '../session-api.ts'
import { rowSignal } from '../rows.ts'
import { isStale, may } from '../connection-state.ts'
import { ActionBar } from '../parts/action-bar.tsx'
import { CommandLine } from '../parts/command-line.tsx'
import { MessageBox } from '../parts/message-box.tsx'
import { Questions } from '../parts/questions.tsx'
import { canResume, nodeFigures, nodeMark, nodeWhy } from './node-texts.ts'

export interface NodePanelProps {
  readonly run: RunView
  readonly node: NodeView
}

export function NodePanel({ run, node }: NodePanelProps): JSX.Element {
  const row = node.process ? rowSignal(node.process.uuid).value : undefined
  const mark = nodeMark(node, row)
  const results = run.nodes.filter(({ needs }) => needs.includes(node.name)).map(({ name }) => name)
  return (
    <section class="node-panel" aria-label={`Node ${node.name}`} data-node={node.name}>
      <h3>
        {node.name} <span class={`status-word ${mark.tone}`}>{mark.word}</span>{' '}
        <span class="quiet">
          {[
            ...(node.process ? [node.process.agent] : []),
            nodeFigures(node),
            ...(results.length > 0 ? [`result → ${results.join(', ')}`] : []),
          ]
            .filter((text) => text !== '')
            .join(' · ')}
        </span>
      </h3>
      {row && row.about !== '' ? <p class="quiet">{visibleText(row.about)}</p> : null}
      {row && row.asks > 0 ? null : <p class={node.state === 'failed' ? 'problem' : ''}>{nodeWhy(node, run, row)}</p>}
      {node.process ? (
        <p class="buttons">
          <a href={`/p/${node.process.uuid}`}>its process</a>
          <a href={`/p/${node.process.uuid}/logs`}>its log</a>
          {row ? <ActionBar row={row} /> : null}
        </p>
      ) : null}
      {node.process ? <Questions uuid={node.process.uuid} /> : null}
      {row ? <MessageBox row={row} /> : null}
      {canResume(node) && may('steer') ? <ResumeNode key={node.name} run={run} node={node} /> : null}
    </section>
  )
}

/** Runs a node again, and then what depends on it. */
function ResumeNode({ run, node }: NodePanelProps): JSX.Element {
  const [message, setMessage] = useState('')
  const [step, setStep] = useState('')
  const [isSending, setSending] = useState(false)
  const lastStep = node.process?.step ?? 0
  const again = [...dependentsOf(run.nodes, node.name)]
  const fork = step === '' ? {} : { fork: true, fromStep: Number(step) }
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    setSending(true)
    try {
      await callApi(`/v1/compose/${run.uuid}/resume`, {
        method: 'POST',
        body: { node: node.name, ...(message === '' ? {} : { message }), ...fork },
      })
      failure.value = null
    } catch (error) {
      failure.value = failureOf(error, 'The node may or may not run again; look at the run.')
    } finally {
      setSending(false)
    }
  }
  const command = ['reeve', 'compose', 'resume', '--node', node.name]
  if (step !== '') command.push('--fork', '--from-step', step)
  if (message !== '') command.push('--message', message)
  return (
    <form class="fork-form" onSubmit={(event) => void submit(event)}>
      <p class="quiet">
        Runs {node.name} again{again.length === 0 ? '' : `, then ${again.join(', ')} (shaded)`}. All other nodes stay as they are.
      </p>
      <label>
        Message
        <input name="resume-message" value={message} onInput={(event) => setMessage(event.currentTarget.value)} />
      </label>
      {lastStep === 0 || !may('start') ? null : (
        <label>
          From
          <select name="from-step" value={step} onChange={(event) => setStep(event.currentTarget.value)}>
            <option value="">the end of its history</option>
            {Array.from({ length: lastStep + 1 }, (_, index) => lastStep - index).map((one) => (
              <option key={one} value={String(one)}>
                a fork after step {one}
              </option>
            ))}
          </select>
        </label>
      )}
      <CommandLine words={[...command, run.name ?? String(run.pid)]} />
      <p class="buttons">
        <button type="submit" class="primary" disabled={isStale.value || isSending}>
          {isSending ? 'Requested' : 'Run again'}
        </button>
      </p>
    </form>
  )
}
