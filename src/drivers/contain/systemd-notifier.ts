// Notifies systemd that the daemon is ready. If the unit has a watchdog, also notifies it regularly that the event loop still runs. If that
// ends, systemd restarts the daemon. A short run of `systemd-notify` sends each of them, because Node has no Unix datagrams. Only
// this folder may start programs. Sends nothing if no service manager has asked for notifications. Test:
// test/processes/daemon/systemd-unit.test.ts.
import { spawn } from 'node:child_process'

/** The number of notifications per watchdog interval of the unit. */
const NOTIFICATIONS_PER_INTERVAL = 3

export interface SystemdNotifier {
  /** Reports that the daemon answers requests, and starts the watchdog notifications. Returns a function that stops them. */
  ready(): () => void
}

/**
 * Creates the notifier for the service manager that `env` names. Removes the manager's variables from `env`, so that programs of the
 * daemon cannot notify in its name.
 */
export function systemdNotifier(env: NodeJS.ProcessEnv, onError: (error: unknown) => void): SystemdNotifier {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: usec } = env
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete env[name]
  if (!socket) return { ready: () => () => {} }
  const notify = (state: string): void => {
    const child = spawn('systemd-notify', [state], { env: { ...env, NOTIFY_SOCKET: socket }, stdio: 'ignore' })
    child.on('error', onError)
    child.unref()
  }
  return {
    ready: () => {
      notify('READY=1')
      const intervalMs = Number(usec) / 1_000 / NOTIFICATIONS_PER_INTERVAL
      if (!(intervalMs > 0)) return () => {}
      const timer = setInterval(() => notify('WATCHDOG=1'), intervalMs).unref()
      return () => clearInterval(timer)
    },
  }
}
