// A formula as text; the T of a transposed matrix is raised, which few fonts do well by themselves.
export function Formula({ text }: { text: string }) {
  const parts = text.split("ᵀ");
  return (
    <>
      {parts.map((part, place) => (
        <span key={place}>
          {part}
          {place < parts.length - 1 && <sup>T</sup>}
        </span>
      ))}
    </>
  );
}
