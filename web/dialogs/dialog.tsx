// A modal dialog, which is open as long as it is drawn. Escape and its button close it: `onClose` is called, and the focus returns to where
// it was.
// Test: test/e2e/web/actions.test.ts.
import { useEffect, useRef } from 'preact/hooks'
import type { ComponentChildren, JSX } from 'preact'
import { guardKeys, useKeys } from '../keyboard.ts'

export interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  /** what the key `y` does */
  readonly onConfirm?: (() => void) | undefined
  readonly children: ComponentChildren
}

export function Dialog({ title, onClose, onConfirm, children }: DialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    guardKeys()
    dialog.current?.showModal()
  }, [])
  useKeys('dialog', onConfirm ? { confirm: onConfirm } : {})
  return (
    <dialog ref={dialog} aria-label={title} onClose={onClose}>
      <header>
        <h2>{title}</h2>
        <button type="button" class="plain" aria-label="Close" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </header>
      {children}
    </dialog>
  )
}
