// Notifications of this browser: while the page is hidden, it notifies the user of each process that begins to need them. They are off
// until the user switches them on in the settings. Test: test/e2e/web/pages/settings.test.ts.
import { effect, signal } from '@preact/signals'
import { titleOf } from '../src/faces/process-names.ts'
import { visibleText } from '../src/faces/visible-text.ts'
import { navigate } from './router.ts'
import { rows, rowsWithNeeds } from './rows.ts'

const KEY = 'reeve.bell'

/** Whether the user has switched notifications on. The browser may still refuse. */
export const areNotificationsOn = signal(localStorage.getItem(KEY) === 'on')

/** Whether this browser can show notifications at all. */
export const canNotify = 'Notification' in globalThis

/** Switches notifications on or off. Returns the reason why they cannot be switched on; null: the switch succeeded. */
export async function switchNotifications(isOn: boolean): Promise<string | null> {
  if (isOn && (await Notification.requestPermission()) !== 'granted') return 'This browser does not allow notifications for this address.'
  areNotificationsOn.value = isOn
  if (isOn) localStorage.setItem(KEY, 'on')
  else localStorage.removeItem(KEY)
  return null
}

/** the processes that needed the user at the last change; null: not looked yet */
let known: ReadonlySet<string> | null = null

/** From now on, notifies the user of each process that begins to need them. */
export function notifyOfNeeds(): void {
  effect(() => {
    const current = rowsWithNeeds.value
    const added = known === null ? [] : [...current].filter((uuid) => !known?.has(uuid))
    known = current
    if (areNotificationsOn.peek() && document.hidden) for (const uuid of added) notify(uuid)
  })
}

function notify(uuid: string): void {
  const row = rows.get(uuid)
  if (!row || !canNotify) return
  try {
    // With the tag, several tabs show one notification of a process, not one each.
    const shown = new Notification(`reeve: ${titleOf(row)}`, {
      body: visibleText(row.why?.text ?? row.note ?? row.status),
      tag: uuid,
    })
    shown.addEventListener('click', () => {
      window.focus()
      navigate(`/p/${uuid}`)
      shown.close()
    })
  } catch {
    // Chrome on Android shows notifications only for pages with a service worker, which this page must not have.
    areNotificationsOn.value = false
  }
}
