// The directories in which the page may start something, and the agents of the chosen one. Test: test/e2e/web/start.test.ts.
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import type { AgentsView, AgentView, PlacesView } from '../../../src/api/views/agents.ts'
import { callApi } from '../../session-api.ts'
import { useReader } from '../../live.ts'
import { isStale } from '../../connection-state.ts'
import { CommandLine } from '../command-line.tsx'

/** the directory that was chosen; empty: the last used one */
const directory = signal('')
/** grows to read again what could not be read; what was read stays, so that no choice changes under the user */
const attempt = signal(1)

interface Places {
  readonly dirs: readonly string[]
  readonly agents: readonly AgentView[]
  readonly chosen: string
  readonly choose: (dir: string) => void
}

interface WithPlacesProps {
  /** starts the first process in a directory */
  readonly command: readonly string[]
  readonly children: (places: Places) => JSX.Element
}

/** Draws a form with the directories and agents, or why there are none. */
export function WithPlaces({ command, children }: WithPlacesProps): JSX.Element {
  const mayRead = (): boolean => !isStale.value && attempt.value > 0
  const places = useReader<PlacesView>(mayRead, 'places', async (before) => before ?? callApi('/v1/places'))
  const dirs = (places.value.value?.places ?? []).filter(({ exists }) => exists).map(({ dir }) => dir)
  const chosen = dirs.includes(directory.value) ? directory.value : (dirs[0] ?? '')
  const agents = useReader<AgentsView>(
    () => mayRead() && chosen !== '',
    `agents ${chosen}`,
    async (before) => before ?? callApi(`/v1/agents?cwd=${encodeURIComponent(chosen)}`),
  )
  const error = places.error.value ?? agents.error.value
  if (error !== null) return <ReadAgain error={error} />
  if (places.value.value === null) return <p class="quiet">The directories are being read.</p>
  if (dirs.length === 0)
    return (
      <section class="empty">
        <p>
          The page starts agents where processes have worked, and none has worked yet. Start the first one in a terminal, in the directory
          of your project:
        </p>
        <CommandLine words={command} />
      </section>
    )
  return children({ dirs, agents: agents.value.value?.agents ?? [], chosen, choose: (dir) => (directory.value = dir) })
}

function ReadAgain({ error }: { readonly error: string }): JSX.Element {
  return (
    <section>
      <p class="problem" role="alert">
        {error}
      </p>
      <p class="buttons">
        <button type="button" onClick={() => (attempt.value += 1)}>
          Read again
        </button>
      </p>
    </section>
  )
}
