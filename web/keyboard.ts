// The keys of the page: each component registers its handlers for the actions of src/faces/keys.ts. A single key works only while no field
// has the focus. Keys are also ignored for a moment after a dialog has opened, so that no key acts on what the user has not seen.
// Test: test/e2e/web/keys.test.ts.
import { signal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { GUARD_MS, actionOfKey, actionsAt, beginsSequence, GO_KEY, type KeyAction, type KeyPlace } from '../src/faces/keys.ts'

/** The handlers of a component. One that returns `false` did nothing: then another component or the browser may take the key. */
export type KeyHandlers = Partial<Record<KeyAction, (key: string) => unknown>>

/** the second key of a sequence must follow within this time, in ms */
const SEQUENCE_MS = 1_500
const STORAGE_KEY = 'reeve.keys'
/** Whether keys without a modifier work. The user can switch them off in the settings. */
export const hasSingleKeys = signal(localStorage.getItem(STORAGE_KEY) !== 'off')

/** The actions that a held key repeats. */
const MOVES: ReadonlySet<KeyAction> = new Set([
  'selectNext',
  'selectPrevious',
  'pageDown',
  'pageUp',
  'previousPart',
  'nextPart',
  'previousLine',
  'nextLine',
  'linesUp',
  'linesDown',
  'previousEdit',
  'nextEdit',
  'nextNeed',
  'previousNeed',
])

interface Registered {
  readonly place: KeyPlace
  readonly handlers: () => KeyHandlers
}

const registered: Registered[] = []
let guardedUntil = 0
let first: { readonly key: string; readonly until: number } | null = null

/** Registers the handlers of a component while it is drawn. A layout effect does so before the first paint, so that no key is lost. */
export function useKeys(place: KeyPlace, handlers: KeyHandlers): void {
  const current = useRef(handlers)
  current.current = handlers
  useLayoutEffect(() => {
    const entry: Registered = { place, handlers: () => current.current }
    registered.push(entry)
    return () => {
      registered.splice(registered.indexOf(entry), 1)
    }
  }, [place])
}

/** The actions that a key can do now. */
export function availableActions(): KeyAction[] {
  return actionsAt(placesNow()).filter((action) => registered.some(({ handlers }) => handlers()[action] !== undefined))
}

/** Performs an action as its key would. Returns false if no component has done anything. */
export function act(action: KeyAction, key = ''): boolean {
  return registered.toReversed().some(({ handlers }) => {
    const handler = handlers()[action]
    return handler !== undefined && handler(key) !== false
  })
}

/** Makes keys do nothing for a moment, because a dialog has opened. */
export function guardKeys(): void {
  guardedUntil = performance.now() + GUARD_MS
}

export function setSingleKeys(isOn: boolean): void {
  localStorage.setItem(STORAGE_KEY, isOn ? 'on' : 'off')
  hasSingleKeys.value = isOn
}

function isInDialog(): boolean {
  return document.querySelector('dialog[open]') !== null
}

function placesNow(): ReadonlySet<KeyPlace> {
  return isInDialog() ? new Set<KeyPlace>(['dialog']) : new Set<KeyPlace>(['anywhere', ...registered.map(({ place }) => place)])
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return
  const key = nameOf(event)
  if (key === null || isForTheBrowser(event, key) || (isInDialog() && performance.now() < guardedUntil)) return
  // A held key repeats only moves.
  const held = event.repeat ? actionOfKey(key, placesNow()) : undefined
  if (held !== undefined && !MOVES.has(held)) return event.preventDefault()
  const before = first !== null && performance.now() < first.until ? first.key : null
  first = null
  if (before !== null && runKey(`${before} ${key}`)) return event.preventDefault()
  if (runKey(key)) return event.preventDefault()
  if (key.length === 1 && beginsSequence(key)) first = { key, until: performance.now() + SEQUENCE_MS }
}

function runKey(key: string): boolean {
  const places = placesNow()
  const action = actionOfKey(key, places)
  if (action !== undefined) return act(action, key)
  return key.startsWith(`${GO_KEY} `) && places.has('anywhere') && act('goToPage', key.slice(GO_KEY.length + 1))
}

/** The name of the key in the table; null: it has a modifier that no key of the table has. */
function nameOf({ key, ctrlKey, metaKey, altKey }: KeyboardEvent): string | null {
  if (ctrlKey || metaKey) return key.toLowerCase() === 'k' && !altKey ? 'Control+k' : null
  return altKey ? null : key
}

/** Whether the page leaves the key alone: single keys are switched off, or a field or a control takes it. */
function isForTheBrowser({ target }: KeyboardEvent, key: string): boolean {
  if (key === 'Control+k') return false
  if (key.length === 1 && !hasSingleKeys.value) return true
  if (!(target instanceof HTMLElement)) return false
  if (target.closest('input:not([type="checkbox"]), textarea, select')) return key !== 'Escape'
  return (key === 'Enter' || key === ' ') && target.closest('a, button, summary, input') !== null
}

addEventListener('keydown', onKeyDown)
