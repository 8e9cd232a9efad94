import { type RefObject, useEffect } from 'react';

/** Fills the fields of a form as the address of the page has them, at first and when a person goes back. A field is left alone while it is as it should be. */
export function useFieldValues(form: RefObject<HTMLFormElement | null>, values: object): void {
  useEffect(() => {
    for (const [name, value] of Object.entries(values) as [string, string][]) {
      const field = form.current?.elements.namedItem(name);
      const isField = field instanceof HTMLInputElement || field instanceof HTMLSelectElement;
      if (isField && field.value.trim() !== value) field.value = value;
    }
  }, [form, values]);
}
