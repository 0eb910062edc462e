-- The index in PostgreSQL with pgvector, and in Supabase. A vector has {dimensions} numbers.
--
-- `tenure documents schema` prints it for your embedder. PostgreSQL: it is run when the index is first opened.
-- Supabase: run it once in the SQL editor. Row level security is on and no policy is made, so only the service role
-- reads and writes.

create extension if not exists vector;

create table if not exists tenure_document_meta (
    name text primary key,
    value text not null
);

create table if not exists tenure_documents (
    document_set text not null,
    name text not null,
    version text not null,
    title text not null,
    chunks integer not null,
    pages integer,
    size bigint not null,
    primary key (document_set, name)
);

-- Chunks of a version are written first, and found once the row of their document names that version.
create table if not exists tenure_chunks (
    document_set text not null,
    name text not null,
    version text not null,
    number integer not null,
    page integer,
    title text not null,
    heading text not null,
    text text not null,
    embedding vector({dimensions}),
    words tsvector generated always as (
        setweight(to_tsvector('english', heading), 'A')
        || setweight(to_tsvector('english', title || ' ' || regexp_replace(name, '[^[:alnum:]]+', ' ', 'g')), 'B')
        || setweight(to_tsvector('english', text), 'D')
    ) stored,
    primary key (document_set, name, version, number)
);

create index if not exists tenure_chunks_words on tenure_chunks using gin (words);
{vector_index}

create table if not exists tenure_summaries (
    document_set text not null,
    name text not null,
    version text not null,
    summary text not null,
    primary key (document_set, name)
);

alter table tenure_document_meta enable row level security;
alter table tenure_documents enable row level security;
alter table tenure_chunks enable row level security;
alter table tenure_summaries enable row level security;

-- In the step in which a document gets a new version, or goes, its other chunks go. A version that is not whole, because
-- another writer has removed a part of it meanwhile, is refused: its writer puts it again.
create or replace function tenure_drop_chunks() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' then
        delete from tenure_chunks where document_set = old.document_set and name = old.name;
        delete from tenure_summaries where document_set = old.document_set and name = old.name;
        return old;
    end if;
    delete from tenure_chunks
    where document_set = new.document_set and name = new.name and version <> new.version;
    if new.chunks <> (
        select count(*) from tenure_chunks
        where document_set = new.document_set and name = new.name and version = new.version
    ) then
        raise exception 'tenure_chunks_missing';
    end if;
    return new;
end $$;

drop trigger if exists tenure_documents_changed on tenure_documents;
create trigger tenure_documents_changed after insert or update or delete on tenure_documents
    for each row execute function tenure_drop_chunks();

-- The candidates for a question: the first `match_count` by words, and by meaning, each with its rank in both lists.
-- `query_words` is read as websearch_to_tsquery does: 'lease or heartbeat'. Empty, or a null vector: not that list.
-- `filter` has the document set. A set of up to 50,000 chunks is compared one by one, which misses nothing; in a larger
-- one the index is asked, which is approximate.
create or replace function match_documents(
    query_words text,
    query_embedding vector({dimensions}),
    match_count integer,
    filter jsonb
) returns table (
    document_set text, name text, number integer, title text, heading text, page integer, text text,
    text_rank bigint, vector_rank bigint
) language plpgsql stable as $$
#variable_conflict use_column
declare
    wanted text := filter ->> 'document_set';
    query tsquery := websearch_to_tsquery('english', query_words);
    near text[] := '{{}}';
    size bigint;
begin
    if query_embedding is not null then
        select coalesce(sum(d.chunks), 0) into size from tenure_documents d where d.document_set = wanted;
        if size <= 50000 then
            select coalesce(array_agg(key order by distance, key), '{{}}') into near from (
                select c.name || chr(10) || c.number as key, (c.embedding <=> query_embedding) + 0 as distance
                from tenure_chunks c join tenure_documents d using (document_set, name, version)
                where c.document_set = wanted and c.embedding is not null
                order by 2, 1 limit match_count
            ) nearest;
        else
            perform set_config('hnsw.ef_search', '1000', true);
            select coalesce(array_agg(key order by distance, key), '{{}}') into near from (
                select c.name || chr(10) || c.number as key, c.embedding <=> query_embedding as distance
                from tenure_chunks c join tenure_documents d using (document_set, name, version)
                where c.document_set = wanted
                order by c.embedding <=> query_embedding limit match_count
            ) nearest;
        end if;
    end if;
    return query
    with by_words as (
        select c.name, c.number, row_number() over (
            order by ts_rank('{{0.1, 0.1, 0.5, 1.0}}', c.words, query, 1) desc, c.name, c.number
        ) as rank
        from tenure_chunks c join tenure_documents d using (document_set, name, version)
        where c.document_set = wanted and query_words <> '' and c.words @@ query
        order by rank limit match_count
    ),
    by_meaning as (
        select split_part(key, chr(10), 1) as name, split_part(key, chr(10), 2)::integer as number, rank
        from unnest(near) with ordinality as nearest (key, rank)
    )
    select c.document_set, c.name, c.number, c.title, c.heading, c.page, c.text, w.rank, m.rank
    from by_words w full join by_meaning m using (name, number)
    join tenure_chunks c on c.document_set = wanted and c.name = coalesce(w.name, m.name)
        and c.number = coalesce(w.number, m.number)
    join tenure_documents d on d.document_set = c.document_set and d.name = c.name and d.version = c.version;
end $$;
