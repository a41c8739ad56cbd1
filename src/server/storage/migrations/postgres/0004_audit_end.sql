-- The end of an operation marks its start in the same statement.
CREATE FUNCTION mark_ended_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE audit_entry SET state = 0 WHERE state = 1 AND id = NEW.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER audit_entry_end AFTER INSERT ON audit_entry
    FOR EACH ROW WHEN (NEW.state = 2) EXECUTE FUNCTION mark_ended_audit_entry();
