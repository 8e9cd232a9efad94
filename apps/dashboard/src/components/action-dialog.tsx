import { type ReactNode, useEffect, useId, useRef } from 'react';

interface ActionDialogProps {
  readonly title: string;
  readonly children: ReactNode;
  /** Words of the button that acts; undefined: the children have their own buttons. */
  readonly confirm?: string;
  readonly isDangerous?: boolean;
  readonly isBusy?: boolean;
  /** Why it did not work. */
  readonly problem?: string | undefined;
  readonly onConfirm?: () => void;
  readonly onClose: () => void;
}

/** A question before something is done. Escape and the first button do nothing. */
export function ActionDialog(props: ActionDialogProps): ReactNode {
  const { title, children, confirm, isDangerous = false, isBusy = false, problem, onConfirm, onClose } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} className="panel action-dialog" aria-labelledby={titleId} onClose={onClose}>
      <h2 id={titleId}>{title}</h2>
      {children}
      {problem !== undefined && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <p className="dialog-buttons">
        <button type="button" onClick={() => dialog.current?.close()}>
          {confirm === undefined ? 'Close' : 'Back'}
        </button>
        {confirm !== undefined && (
          <button type="button" className={isDangerous ? 'danger' : 'primary'} disabled={isBusy} onClick={onConfirm}>
            {confirm}
          </button>
        )}
      </p>
    </dialog>
  );
}
