import { type ReactNode, useId, useState } from 'react';
import { locationOf, withLocation } from '../new-job/checkpoint-location.ts';
import { lineOf, wordsOf } from '../new-job/command-words.ts';
import type { FieldProblem } from '../new-job/field-problems.ts';
import { FORM, type FormInput, fieldValue, type Location } from '../new-job/form-inputs.ts';
import { canPlan, gpusInput, withPlannedLayout } from '../new-job/gpus-input.ts';
import { valueIn, withField } from '../new-job/job-draft.ts';

/** Names that the form offers. */
export type FormOffers = Readonly<Record<NonNullable<FormInput['offers']>, readonly string[]>>;

interface JobFormProps {
  readonly text: string;
  /** What the text says. */
  readonly request: unknown;
  /** Problems by the field of the input that shows them. */
  readonly problems: Readonly<Record<string, readonly FieldProblem[]>>;
  readonly offers: FormOffers;
  /** Whether the text cannot be read, so that no field of it can be edited. */
  readonly isDisabled: boolean;
  readonly onChange: (text: string) => void;
}

type InputProps = JobFormProps & { readonly input: FormInput };

/** Common fields of a job; each edits its line of the YAML. */
export function JobForm(props: JobFormProps): ReactNode {
  const location = locationOf(props.request);
  return (
    <form className="panel job-form" onSubmit={(event) => event.preventDefault()} aria-label="Fields of the job">
      {FORM.map(({ title, inputs }) => (
        <fieldset key={title} disabled={props.isDisabled}>
          <legend>{title}</legend>
          {inputs
            .filter(({ locations }) => locations?.includes(location) ?? true)
            .map((input) => (
              <Field key={input.field} {...props} input={input} />
            ))}
        </fieldset>
      ))}
    </form>
  );
}

/** Id of the element that edits a field, so that a problem can lead to it. */
export function inputId(field: string): string {
  return `field-${field}`;
}

/** A label with its input, a hint, and what is wrong with the field. */
function Field(props: InputProps): ReactNode {
  const { input, problems } = props;
  const id = inputId(input.field);
  const found = problems[input.field] ?? [];
  const describedBy = [input.hint === undefined ? '' : `${id}-hint`, found.length === 0 ? '' : `${id}-problems`];
  const attributes = {
    id,
    'aria-invalid': found.some(({ effect }) => effect === 'NeedsChange') || undefined,
    'aria-describedby': describedBy.join(' ').trim() || undefined,
  };
  return (
    <div className={input.kind === 'words' ? 'field full' : input.isWide === true ? 'field wide-field' : 'field'}>
      <label htmlFor={id}>{input.label}</label>
      <Control {...props} attributes={attributes} />
      {input.hint !== undefined && (
        <small id={`${id}-hint`} className="hint">
          {input.hint}
        </small>
      )}
      {found.length > 0 && (
        <ul id={`${id}-problems`} className="field-problems">
          {found.map(({ field, rule, effect }) => (
            <li key={field + rule} className={effect === 'NeedsChange' ? 'problem' : 'held-ink'}>
              {field !== input.field && <code>{field}</code>} {rule}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

interface Attributes {
  readonly id: string;
  readonly 'aria-invalid': true | undefined;
  readonly 'aria-describedby': string | undefined;
}

function Control(props: InputProps & { readonly attributes: Attributes }): ReactNode {
  const { input, text, request, offers, onChange, attributes } = props;
  const { field, kind, placeholder } = input;
  const write = (value: unknown, to = field): void => onChange(withField(text, to, value));
  if (kind === 'words')
    return <CommandInput {...attributes} words={valueIn(request, field)} placeholder={placeholder} onChange={write} />;
  if (kind === 'location') {
    return (
      <Choice
        {...attributes}
        value={locationOf(request)}
        choices={LOCATION_WORDS}
        onChange={(value) => onChange(withLocation(text, value as Location))}
      />
    );
  }
  if (kind === 'gpus') return <GpusInput {...props} />;
  const value = shown(valueIn(request, field));
  const offered = input.offers === undefined ? undefined : offers[input.offers];
  if (kind === 'choice') {
    const choices = input.choices ?? [['', 'default'], ...(offered ?? []).map((name) => [name, name] as const)];
    return (
      <Choice {...attributes} value={value} choices={choices} onChange={(typed) => write(fieldValue(kind, typed))} />
    );
  }
  return (
    <>
      <TextInput
        {...attributes}
        value={value}
        placeholder={placeholder}
        isNumber={kind === 'number'}
        list={offered === undefined ? undefined : `${attributes.id}-offers`}
        onChange={(typed) => write(fieldValue(kind, typed))}
      />
      {offered !== undefined && (
        <datalist id={`${attributes.id}-offers`}>
          {offered.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </datalist>
      )}
    </>
  );
}

const LOCATION_WORDS: readonly (readonly [Location, string])[] = [
  ['none', 'nowhere: nothing is saved'],
  ['claim', 'in a claim'],
  ['bucket', 'in a bucket'],
];

function shown(value: unknown): string {
  return value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
}

interface TextInputProps extends Attributes {
  readonly value: string;
  readonly placeholder?: string | undefined;
  readonly isNumber?: boolean;
  readonly list?: string | undefined;
  readonly onChange: (typed: string) => void;
}

/** Keeps what is typed as it is typed: the YAML has it without spaces around it. */
function TextInput({ value, isNumber = false, onChange, ...attributes }: TextInputProps): ReactNode {
  const [typed, setTyped] = useState<string>();
  return (
    <input
      {...attributes}
      type="text"
      inputMode={isNumber ? 'numeric' : 'text'}
      autoComplete="off"
      spellCheck={false}
      value={typed ?? value}
      onChange={(event) => {
        setTyped(event.target.value);
        onChange(event.target.value);
      }}
      onBlur={() => setTyped(undefined)}
    />
  );
}

/** The words of a command in one line, as a shell splits them. */
function CommandInput(
  props: Attributes & {
    readonly words: unknown;
    readonly placeholder: string | undefined;
    readonly onChange: (words: readonly string[] | undefined) => void;
  },
): ReactNode {
  const { words, onChange, ...attributes } = props;
  const [typed, setTyped] = useState<string>();
  const line = Array.isArray(words) ? lineOf(words.map(String)) : shown(words);
  return (
    <textarea
      {...attributes}
      rows={2}
      spellCheck={false}
      value={typed ?? line}
      onChange={(event) => {
        setTyped(event.target.value);
        const found = wordsOf(event.target.value);
        onChange(found.length === 0 ? undefined : found);
      }}
      onBlur={() => setTyped(undefined)}
    />
  );
}

interface ChoiceProps extends Attributes {
  readonly value: string;
  readonly choices: readonly (readonly [value: string, words: string])[];
  readonly onChange: (value: string) => void;
}

/** A value that is not among the choices, e.g. of a newer release, stays and is shown. */
function Choice({ value, choices, onChange, ...attributes }: ChoiceProps): ReactNode {
  const isKnown = choices.some(([known]) => known === value);
  return (
    <select {...attributes} value={value} onChange={(event) => onChange(event.target.value)}>
      {!isKnown && <option value={value}>{value}</option>}
      {choices.map(([known, words]) => (
        <option key={known} value={known}>
          {words}
        </option>
      ))}
    </select>
  );
}

/** The number of GPUs, or the layout that the YAML gives. */
function GpusInput({
  text,
  request,
  onChange,
  attributes,
}: InputProps & { readonly attributes: Attributes }): ReactNode {
  const noteId = useId();
  const found = gpusInput(request);
  const { field } = found;
  return (
    <>
      {field === undefined ? (
        <input
          {...attributes}
          type="text"
          value={`${found.gpus}: ${found.layout}`}
          readOnly
          aria-describedby={noteId}
        />
      ) : (
        <TextInput
          {...attributes}
          isNumber
          value={shown(valueIn(request, field))}
          onChange={(typed) => onChange(withField(text, field, fieldValue('number', typed)))}
        />
      )}
      {field === 'spec.gpus' ? (
        <small className="hint">The planner chooses how they are divided.</small>
      ) : (
        <small className="hint" id={noteId}>
          {field === undefined ? 'The YAML gives the layout.' : 'All are data parallel.'}{' '}
          {canPlan(request) && (
            <button type="button" className="quiet" onClick={() => onChange(withPlannedLayout(text, request))}>
              Let the planner choose
            </button>
          )}
        </small>
      )}
    </>
  );
}
