// Components whose code is loaded when they are first drawn, so that the first load stays small. The daemon must have proved itself before
// that, because another program may listen at its port by now. Test: test/e2e/web/process.test.ts, test/ratchet.test.ts.
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { FunctionComponent, JSX } from 'preact'
import { proveDaemon } from './connection-state.ts'

/** Returns a component that loads its code when it is first drawn. `name`: what is being loaded, such as `The log`. */
export function lazy<P extends object>(name: string, load: () => Promise<FunctionComponent<P>>): FunctionComponent<P> {
  const loaded = signal<{ readonly part: FunctionComponent<P> } | 'failed' | null>(null)
  let isLoading = false
  const start = (): void => {
    if (isLoading || loaded.peek() !== null) return
    isLoading = true
    proveDaemon()
      .then(load)
      .then((part) => (loaded.value = { part }))
      // The daemon is away, or a newer one has other files.
      .catch(() => (loaded.value = 'failed'))
      .finally(() => (isLoading = false))
  }
  return function LazyPart(props: P): JSX.Element {
    useEffect(start)
    const state = loaded.value
    if (state === null) return <p class="quiet">{name} is being loaded.</p>
    if (state === 'failed') return <LoadFailed name={name} retry={() => (loaded.value = null)} />
    const Part = state.part
    return <Part {...props} />
  }
}

function LoadFailed({ name, retry }: { readonly name: string; readonly retry: () => void }): JSX.Element {
  return (
    <p class="problem" role="alert">
      {name} could not be loaded.{' '}
      <button type="button" onClick={retry}>
        Try again
      </button>{' '}
      <button type="button" onClick={() => location.reload()}>
        Load the page again
      </button>
    </p>
  )
}
