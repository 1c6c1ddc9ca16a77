/**
 * Pictures and other files of a result. A raster picture is shown once it comes into view; anything else is a button that saves
 * it. Both are bytes that the reader's key fetched, behind an address that dies with the card: nothing of them is ever a document.
 */
import { useQuery } from '@tanstack/react-query';
import { useContext, useEffect, useMemo, useRef, useState, type RefObject } from 'react';
import { ApiError } from '../../api/request.ts';
import { fetchMedia } from '../../api/results.ts';
import { isPictureType, mediaIn, wholeResultOf, type StoredFile, type StoredMedia } from '../../record/stored-media.ts';
import { useProblemText } from '../../ui/problem.tsx';
import { useWords } from '../../words/words.tsx';
import { RunId } from './record-details.tsx';

/** `isSeeded`: a fork took the result over, so its files are those of another run. */
export function ResultMedia({ data, isSeeded }: { data: string; isSeeded: boolean }) {
  const { say, size } = useWords();
  const runId = useContext(RunId);
  const all = useMemo(() => mediaIn(data, isSeeded ? undefined : runId), [data, isSeeded, runId]);
  return all.map((media) => (
    <figure key={media.path} className="media">
      {media.isShown && <Picture media={media} />}
      <figcaption>
        <Download
          file={media}
          label={say('media.download', { name: media.name, type: media.type, size: size(media.bytes) })}
        />
      </figcaption>
    </figure>
  ));
}

/** Saves the whole of a result that is shown in part. */
export function WholeResult({ reference, isSeeded }: { reference: string | null; isSeeded: boolean }) {
  const { say } = useWords();
  const runId = useContext(RunId);
  const file = wholeResultOf(reference, isSeeded ? undefined : runId);
  if (!file) return null;
  return (
    <div className="media">
      <Download file={file} label={say('media.whole', { name: file.name })} />
    </div>
  );
}

function Picture({ media: { path, type, bytes } }: { media: StoredMedia }) {
  const { say, size } = useWords();
  const place = useRef<HTMLDivElement>(null);
  const isSeen = useSeen(place);
  const [isBroken, setBroken] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: ['media', path],
    queryFn: ({ signal }) => fetchMedia(path, signal),
    enabled: isSeen,
    staleTime: Infinity,
    gcTime: 0,
  });
  const isPicture = data !== undefined && isPictureType(data.type) && !isBroken;
  const url = useBlobUrl(isPicture ? data : undefined);
  return (
    <div ref={place} className="picture">
      {error && <MediaProblem error={error} onRetry={() => void refetch()} />}
      {!error && !data && <p className="quiet">{say('state.loading')}</p>}
      {data && !isPicture && <p className="hint">{say('media.noPicture')}</p>}
      {url !== undefined && (
        <img src={url} alt={say('media.picture', { type, size: size(bytes) })} onError={() => setBroken(true)} />
      )}
    </div>
  );
}

function Download({ file: { path, name }, label }: { file: StoredFile; label: string }) {
  const [isUnderWay, setUnderWay] = useState(false);
  const [file, setFile] = useState<Blob>();
  const [problem, setProblem] = useState<unknown>();
  const url = useBlobUrl(file);
  useEffect(() => {
    if (url !== undefined) save(url, name);
  }, [url, name]);
  const start = async () => {
    setUnderWay(true);
    setProblem(undefined);
    try {
      const bytesOfIt = await fetchMedia(path);
      // Saved, and by no means opened: whatever it is, it has no type here.
      setFile(bytesOfIt.slice(0, bytesOfIt.size, 'application/octet-stream'));
    } catch (error) {
      setProblem(error);
    }
    setUnderWay(false);
  };
  return (
    <>
      <button type="button" className="more" disabled={isUnderWay} onClick={() => void start()}>
        {label}
      </button>
      {problem !== undefined && <MediaProblem error={problem} />}
    </>
  );
}

function MediaProblem({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { say } = useWords();
  const problemText = useProblemText();
  const isGone = error instanceof ApiError && error.status === 404;
  return (
    <>
      <p className="problem" role="status">
        {isGone ? say('media.gone') : problemText(error)}
      </p>
      {onRetry && !isGone && (
        <button type="button" className="more" onClick={onRetry}>
          {say('state.retry')}
        </button>
      )}
    </>
  );
}

/** Whether an element has been in view, or nearly. */
function useSeen(place: RefObject<Element | null>): boolean {
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    const element = place.current;
    if (isSeen || !element) return undefined;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [place, isSeen]);
  return isSeen;
}

/** An address of bytes, for as long as they are shown. */
function useBlobUrl(blob: Blob | undefined): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (!blob) return undefined;
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => {
      URL.revokeObjectURL(made);
      setUrl(undefined);
    };
  }, [blob]);
  return url;
}

function save(url: string, name: string): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
}
