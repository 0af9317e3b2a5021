// Data that is read again when the rows that it depends on have changed, such as the steps of a process. Data that is expensive to read is
// read at intervals instead. A value stays on the page while it is read again, and an older answer never replaces a newer one.
// Test: test/e2e/web/process.test.ts.
import { computed, effect, signal, untracked, type Signal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { RequestError } from './request-error.ts'
import { rowSignal } from './rows.ts'
import { isStale, now } from './connection-state.ts'

/** the least time between the end of a read and the next read, in ms */
const MIN_INTERVAL_MS = 300

/** Whether the tab is hidden. */
export const isHidden = signal(document.hidden)
addEventListener('visibilitychange', () => (isHidden.value = document.hidden))
const canRead = computed(() => !isStale.value && !isHidden.value)

export interface Live<T> {
  readonly value: Signal<T | null>
  /** why the last read failed; null: it did not */
  readonly error: Signal<string | null>
}

/** Calls `read` at once, and after each change of the row `uuid`. `key`: what else the data depends on. */
export function useLive<T>(uuid: string, key: string, read: (before: T | null) => Promise<T>): Live<T> {
  // The row changes with each fact of the process, because it has the number of facts.
  return useReader(() => rowSignal(uuid).value !== undefined, `${uuid} ${key}`, read)
}

/**
 * Calls `read` at once, and after each change of `version` or of a signal that `watch` reads; not while `watch` returns false. A new `key`
 * drops the value, a new `version` does not.
 */
export function useReader<T>(watch: () => boolean, key: string, read: (before: T | null) => Promise<T>, version = ''): Live<T> {
  // The newest `read` knows what is drawn now, such as whether a step can still change.
  const newest = useRef(read)
  newest.current = read
  const live = useMemo(() => new Reader<T>((before) => newest.current(before)), [key])
  useEffect(
    // Only `watch` decides when to read again, not what `read` looks at.
    () =>
      effect(() => {
        if (watch()) untracked(() => live.request())
      }),
    [live, version],
  )
  useEffect(() => () => live.end(), [live])
  return live
}

export interface Regularity {
  readonly everyMs: number
  /** true: what is read has ended, so it is read once, and again only when the tab is shown or the link is back */
  readonly hasEnded?: boolean
  /** nothing is read while it returns false */
  readonly when?: () => boolean
  /** it is also read at once when this changes */
  readonly version?: string
}

/**
 * Calls `read` at once, and then at intervals; not in a hidden tab, but at once when the tab is shown again. For data that is too expensive
 * to read at each change of a row.
 */
export function useRegularReader<T>(regularity: Regularity, key: string, read: () => Promise<T>): Live<T> {
  const { everyMs, hasEnded = false, when, version = '' } = regularity
  const moment = useMemo(() => computed(() => Math.floor(now.value / everyMs)), [everyMs])
  const watch = (): boolean => canRead.value && (when?.() ?? true) && (hasEnded || moment.value > 0)
  return useReader(watch, key, read, `${hasEnded} ${version}`)
}

class Reader<T> implements Live<T> {
  readonly value = signal<T | null>(null)
  readonly error = signal<string | null>(null)
  readonly #read: (before: T | null) => Promise<T>
  #isReading = false
  #mustRead = false
  #hasEnded = false

  constructor(read: (before: T | null) => Promise<T>) {
    this.#read = read
  }

  request(): void {
    this.#mustRead = true
    if (this.#isReading || this.#hasEnded) return
    this.#isReading = true
    void this.#readWhileNeeded().finally(() => (this.#isReading = false))
  }

  end(): void {
    this.#hasEnded = true
  }

  async #readWhileNeeded(): Promise<void> {
    while (this.#mustRead && !this.#hasEnded) {
      this.#mustRead = false
      try {
        this.value.value = await this.#read(this.value.peek())
        this.error.value = null
      } catch (error) {
        this.error.value = error instanceof RequestError ? `${error.message}. ${error.hint}` : 'The daemon does not answer.'
      }
      await new Promise((resolve) => setTimeout(resolve, MIN_INTERVAL_MS))
    }
  }
}
