/** As much of `nodemailer` as is used; it comes without types. */
declare module 'nodemailer' {
  /** A mail as it is handed over. */
  export interface Mail {
    readonly from: string;
    readonly to: string;
    readonly subject: string;
    readonly text: string;
    readonly messageId: string;
    readonly date: Date;
    readonly headers: Readonly<Record<string, string>>;
  }

  /** A connection to one server. */
  export interface Transport {
    sendMail(mail: Mail): Promise<unknown>;
    close(): void;
  }

  const nodemailer: { createTransport(options: Readonly<Record<string, unknown>>): Transport };
  export default nodemailer;
}
