// The settings page: choices for this browser, the sessions of the page, figures of the daemon, and all keys. Settings of the machine are
// only shown here; they are changed on the machine. Test: test/e2e/web/pages/settings.test.ts.
import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { DaemonView } from '../../src/api/views/daemon.ts'
import type { UsageReportView } from '../../src/api/views/usage.ts'
import { formatCost, formatLimitUsd } from '../../src/faces/format.ts'
import { KEYS, keyTexts, type KeyAction, type KeyPlace, type KeyRow } from '../../src/faces/keys.ts'
import { callApi } from '../session-api.ts'
import { canNotify, areNotificationsOn, switchNotifications } from '../notifications.ts'
import { hasSingleKeys, setSingleKeys } from '../keyboard.ts'
import { useReader } from '../live.ts'
import { chooseTheme, theme, THEMES } from '../theme.ts'
import { CommandLine } from '../parts/command-line.tsx'
import { Sessions } from '../settings/sessions.tsx'
import { isStale, session } from '../connection-state.ts'

export function SettingsPage(): JSX.Element {
  return (
    <section class="settings" aria-label="Settings">
      <h2>Settings</h2>
      <ThisBrowser />
      <Sessions />
      <Machine />
      <KeyTable />
    </section>
  )
}

function Part({ title, children }: { readonly title: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {children}
    </section>
  )
}

function ThisBrowser(): JSX.Element {
  const [refused, setRefused] = useState<string | null>(null)
  return (
    <Part title="This browser">
      <fieldset>
        <legend>Looks</legend>
        {THEMES.map((name) => (
          <label key={name} class="inline">
            <input type="radio" name="theme" checked={theme.value === name} onChange={() => chooseTheme(name)} />{' '}
            {name === 'system' ? 'as the system' : name}
          </label>
        ))}
      </fieldset>
      <label class="inline">
        <input type="checkbox" checked={hasSingleKeys.value} onChange={(event) => setSingleKeys(event.currentTarget.checked)} /> keys
        without Ctrl work
      </label>
      <label class="inline">
        <input
          type="checkbox"
          checked={areNotificationsOn.value}
          disabled={!canNotify}
          onChange={(event) => {
            const box = event.currentTarget
            void switchNotifications(box.checked).then((why) => {
              setRefused(why)
              box.checked = areNotificationsOn.value
            })
          }}
        />{' '}
        notify me while this page is open in a hidden tab, when a process begins to need me
      </label>
      {refused === null ? null : <p class="problem">{refused}</p>}
    </Part>
  )
}

interface MachineSettings {
  readonly daemon: Pick<DaemonView, 'home' | 'processes'>
  readonly home: UsageReportView['home'] | null
}

/** A session for one subtree, or a redacted one, may not read what all processes have spent. */
async function readMachine(): Promise<MachineSettings> {
  const opened = session.peek()
  const isWhole = typeof opened !== 'string' && opened.session.only === null && !opened.session.redact
  const [daemon, usage] = await Promise.all([
    callApi<Pick<DaemonView, 'home' | 'processes'>>('/v1/daemon?figures=0'),
    isWhole ? callApi<UsageReportView>('/v1/usage?by=agent') : Promise.resolve(null),
  ])
  return { daemon, home: usage?.home ?? null }
}

/** The home, its budgets and the process limit, which only the machine can change. */
function Machine(): JSX.Element {
  const { value, error } = useReader(() => !isStale.value, 'settings', readMachine)
  const machine = value.value
  const period = ({ costUsd, budgetUsd }: UsageReportView['home']['day']): string =>
    budgetUsd === null ? `${formatCost(costUsd)} spent, no budget` : `${formatCost(costUsd)} of ${formatLimitUsd(budgetUsd)}`
  const figures =
    machine === null
      ? []
      : ([
          ['home', machine.daemon.home],
          ['processes at most', String(machine.daemon.processes.max)],
          ...(machine.home === null
            ? []
            : ([
                ['today', period(machine.home.day)],
                ['this month', period(machine.home.month)],
              ] as const)),
        ] as const)
  return (
    <Part title="The daemon">
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      <dl class="figures">
        {figures.map(([name, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <p class="quiet">
        The page reads no config.yaml, because it may name secrets. Limits, notifications by desktop and webhook, and what the page may do
        are set on the machine. <a href="/machines">Machine</a> has its checks.
      </p>
      <CommandLine words={['reeve', 'config', 'show']} />
    </Part>
  )
}

const PLACES: Readonly<Record<KeyPlace, string>> = {
  anywhere: 'everywhere',
  list: 'in the list',
  need: 'at a question',
  process: 'on the page of a process',
  dialog: 'in a dialog',
}

function KeyTable(): JSX.Element {
  const rows = Object.entries(KEYS) as [KeyAction, KeyRow][]
  return (
    <Part title="Keys">
      <div class="key-groups">
        {(Object.keys(PLACES) as KeyPlace[]).map((place) => (
          <section key={place} aria-label={PLACES[place]}>
            <h4>{PLACES[place]}</h4>
            <dl>
              {rows
                .filter(([, { places }]) => places.includes(place))
                .map(([action, { does }]) => (
                  <div key={action}>
                    <dt>
                      {keyTexts(action).map((key) => (
                        <kbd key={key}>{key}</kbd>
                      ))}
                    </dt>
                    <dd>{does}</dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
    </Part>
  )
}
